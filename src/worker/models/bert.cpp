// BERT (Devlin 2019, 1810.04805) with Hugging Face's names, like BertForMaskedLM: norms after the
// residual sums, exact GELU, every token sees all others, no pooler, the decoder tied to the word
// embeddings with a separate bias. All tokens have type 0.
//
// The loss is that of the positions whose words were hidden (worker/execute/masking.hpp): logits
// are only computed for these.
#include <fmt/format.h>

#include "worker/models/block_parts.hpp"
#include "worker/models/vocabulary.hpp"
#include "worker/ops/attention_op.hpp"
#include "worker/ops/team.hpp"

namespace nereus::worker {

namespace {

constexpr double kBertEpsilon = 1e-12;
constexpr Init kBertNormal{Init::kNormal, 0.02};
constexpr Init kBertOne{Init::kOne};
constexpr WeightLayout kBertLayout = WeightLayout::kOutIn;
constexpr const char* kWords = "bert.embeddings.word_embeddings.weight";

class BertEmbedding : public Layer {
 public:
  explicit BertEmbedding(const model::TransformerShape& shape) : shape_(shape) {}

  std::vector<Parameter> parameters() const override {
    const std::int64_t h = shape_.hidden;
    return {
        {kWords, {shape_.vocab, h}, {0, 1}, kBertNormal},
        {"bert.embeddings.position_embeddings.weight", {shape_.max_positions, h}, {}, kBertNormal},
        {"bert.embeddings.token_type_embeddings.weight", {2, h}, {}, kBertNormal},
        {"bert.embeddings.LayerNorm.weight", {h}, {}, kBertOne},
        {"bert.embeddings.LayerNorm.bias", {h}}};
  }

  at::Tensor forward(const std::vector<at::Tensor>&, const Weights& w,
                     PassContext& pass) const override {
    const at::Tensor words = embed_tokens(w, 0, shape_.vocab, pass);
    const at::Tensor positions = learned_positions(w, 1, pass);
    return drop(layer_norm(words + positions + w.values[2][0], w, 3, kBertEpsilon), index, 0, pass);
  }

 private:
  model::TransformerShape shape_;
};

class BertBlock : public Layer {
 public:
  BertBlock(const model::TransformerShape& shape, int number) : shape_(shape), number_(number) {}

  std::vector<Parameter> parameters() const override {
    const std::int64_t h = shape_.hidden, f = shape_.ffn, a = shape_.heads * shape_.head_dim;
    const auto named = [&](const char* name) {
      return fmt::format("bert.encoder.layer.{}.{}", number_, name);
    };
    return {{named("attention.self.query.weight"), {a, h}, {0, 1}, kBertNormal},
            {named("attention.self.query.bias"), {a}, {0, 1}},
            {named("attention.self.key.weight"), {a, h}, {0, 1}, kBertNormal},
            {named("attention.self.key.bias"), {a}, {0, 1}},
            {named("attention.self.value.weight"), {a, h}, {0, 1}, kBertNormal},
            {named("attention.self.value.bias"), {a}, {0, 1}},
            {named("attention.output.dense.weight"), {h, a}, {1, 1}, kBertNormal},
            {named("attention.output.dense.bias"), {h}},
            {named("attention.output.LayerNorm.weight"), {h}, {}, kBertOne},
            {named("attention.output.LayerNorm.bias"), {h}},
            {named("intermediate.dense.weight"), {f, h}, {0, 1}, kBertNormal},
            {named("intermediate.dense.bias"), {f}, {0, 1}},
            {named("output.dense.weight"), {h, f}, {1, 1}, kBertNormal},
            {named("output.dense.bias"), {h}},
            {named("output.LayerNorm.weight"), {h}, {}, kBertOne},
            {named("output.LayerNorm.bias"), {h}}};
  }

  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights& w,
                     PassContext& pass) const override {
    const at::Tensor mixed = drop(attention_branch(in[0], w, pass), index, 0, pass);
    const at::Tensor x = layer_norm(in[0] + mixed, w, 8, kBertEpsilon);
    return layer_norm(x + drop(mlp_branch(x, w, pass), index, 1, pass), w, 14, kBertEpsilon);
  }

 private:
  at::Tensor attention_branch(const at::Tensor& x, const Weights& w, PassContext& pass) const {
    const at::Tensor entered = enter_region(x, pass);
    const std::int64_t heads = shape_.heads / pass.tensor_size();
    const auto part = [&](int weight) {
      return split_heads(linear(entered, w, weight, weight + 1, kBertLayout, pass), heads);
    };
    return project_out(join_heads(attend(part(0), part(2), part(4), shape_.causal, pass)), w, 6,
                       kBertLayout, pass);
  }

  static at::Tensor mlp_branch(const at::Tensor& x, const Weights& w, PassContext& pass) {
    const at::Tensor inner = at::gelu(linear(enter_region(x, pass), w, 10, 11, kBertLayout, pass));
    return project_out(inner, w, 12, kBertLayout, pass);
  }

  model::TransformerShape shape_;
  int number_;
};

class BertHead : public Layer {
 public:
  explicit BertHead(const model::TransformerShape& shape) : shape_(shape) {}

  std::vector<Parameter> parameters() const override {
    const std::int64_t h = shape_.hidden;
    Parameter table = head_table(shape_, kWords, kBertNormal);
    if (table.tied_to_layer < 0) table.name = "cls.predictions.decoder.weight";
    return {{"cls.predictions.transform.dense.weight", {h, h}, {}, kBertNormal},
            {"cls.predictions.transform.dense.bias", {h}},
            {"cls.predictions.transform.LayerNorm.weight", {h}, {}, kBertOne},
            {"cls.predictions.transform.LayerNorm.bias", {h}},
            table,
            {"cls.predictions.bias", {shape_.vocab}, {0, 1}}};
  }

  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights& w,
                     PassContext& pass) const override {
    const at::Tensor inner = at::gelu(linear(in[0], w, 0, 1, kBertLayout, pass));
    return token_loss(layer_norm(inner, w, 2, kBertEpsilon), w, 4, shape_.vocab, pass, 5);
  }

 private:
  model::TransformerShape shape_;
};

}  // namespace

Layers build_bert(const model::TransformerShape& shape) {
  return stack_layers<BertEmbedding, BertBlock, BertHead>(shape);
}

}  // namespace nereus::worker
