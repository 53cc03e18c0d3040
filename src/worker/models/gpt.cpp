// GPT-2 (Radford 2019) with Hugging Face's names and layouts: weights are [in, out] (Conv1D);
// queries, keys and values are one product; the head is tied to the token embedding; GELU uses
// tanh.
#include <fmt/format.h>

#include <cmath>

#include "worker/models/block_parts.hpp"
#include "worker/models/vocabulary.hpp"
#include "worker/ops/attention_op.hpp"
#include "worker/ops/gelu.hpp"
#include "worker/ops/team.hpp"

namespace nereus::worker {

namespace {

constexpr double kGptEpsilon = 1e-5;
constexpr double kGptDeviation = 0.02;

class GptEmbedding : public Layer {
 public:
  explicit GptEmbedding(const model::TransformerShape& shape) : shape_(shape) {}

  std::vector<Parameter> parameters() const override {
    const Init normal{Init::kNormal, kGptDeviation};
    return {{"transformer.wte.weight", {shape_.vocab, shape_.hidden}, {0, 1}, normal},
            {"transformer.wpe.weight", {shape_.max_positions, shape_.hidden}, {}, normal}};
  }

  at::Tensor forward(const std::vector<at::Tensor>&, const Weights& w,
                     PassContext& pass) const override {
    const at::Tensor tokens = embed_tokens(w, 0, shape_.vocab, pass);
    const at::Tensor positions = learned_positions(w, 1, pass);
    return drop(tokens + positions, index, 0, pass);
  }

 private:
  model::TransformerShape shape_;
};

class GptBlock : public Layer {
 public:
  GptBlock(const model::TransformerShape& shape, int number) : shape_(shape), number_(number) {}

  std::vector<Parameter> parameters() const override {
    const std::int64_t h = shape_.hidden, f = shape_.ffn;
    const Init normal{Init::kNormal, kGptDeviation};
    // Residual branches start smaller, so that their sum over all blocks does not grow.
    const Init residual{Init::kNormal, kGptDeviation / std::sqrt(2.0 * shape_.layers)};
    const auto named = [&](const char* name) {
      return fmt::format("transformer.h.{}.{}", number_, name);
    };
    return {{named("ln_1.weight"), {h}, {}, {Init::kOne}},
            {named("ln_1.bias"), {h}},
            {named("attn.c_attn.weight"), {h, 3 * h}, {1, 3}, normal},
            {named("attn.c_attn.bias"), {3 * h}, {0, 3}},
            {named("attn.c_proj.weight"), {h, h}, {0, 1}, residual},
            {named("attn.c_proj.bias"), {h}},
            {named("ln_2.weight"), {h}, {}, {Init::kOne}},
            {named("ln_2.bias"), {h}},
            {named("mlp.c_fc.weight"), {h, f}, {1, 1}, normal},
            {named("mlp.c_fc.bias"), {f}, {0, 1}},
            {named("mlp.c_proj.weight"), {f, h}, {0, 1}, residual},
            {named("mlp.c_proj.bias"), {h}}};
  }

  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights& w,
                     PassContext& pass) const override {
    const at::Tensor x = in[0] + drop(attention_branch(in[0], w, pass), index, 0, pass);
    return x + drop(mlp_branch(x, w, pass), index, 1, pass);
  }

 private:
  at::Tensor attention_branch(const at::Tensor& x, const Weights& w, PassContext& pass) const {
    const at::Tensor entered = enter_region(layer_norm(x, w, 0, kGptEpsilon), pass);
    const std::vector<at::Tensor> parts =
        linear(entered, w, 2, 3, WeightLayout::kInOut, pass).chunk(3, -1);
    const std::int64_t heads = shape_.heads / pass.tensor_size();
    const at::Tensor mixed = attend(split_heads(parts[0], heads), split_heads(parts[1], heads),
                                    split_heads(parts[2], heads), shape_.causal, pass);
    return project_out(join_heads(mixed), w, 4, WeightLayout::kInOut, pass);
  }

  at::Tensor mlp_branch(const at::Tensor& x, const Weights& w, PassContext& pass) const {
    const at::Tensor entered = enter_region(layer_norm(x, w, 6, kGptEpsilon), pass);
    const at::Tensor inner = gelu_tanh(linear(entered, w, 8, 9, WeightLayout::kInOut, pass));
    return project_out(inner, w, 10, WeightLayout::kInOut, pass);
  }

  model::TransformerShape shape_;
  int number_;
};

class GptHead : public Layer {
 public:
  explicit GptHead(const model::TransformerShape& shape) : shape_(shape) {}

  std::vector<Parameter> parameters() const override {
    const std::int64_t h = shape_.hidden;
    return {{"transformer.ln_f.weight", {h}, {}, {Init::kOne}},
            {"transformer.ln_f.bias", {h}},
            head_table(shape_, "transformer.wte.weight", {Init::kNormal, kGptDeviation})};
  }

  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights& w,
                     PassContext& pass) const override {
    return token_loss(layer_norm(in[0], w, 0, kGptEpsilon), w, 2, shape_.vocab, pass);
  }

 private:
  model::TransformerShape shape_;
};

}  // namespace

Layers build_gpt(const model::TransformerShape& shape) {
  return stack_layers<GptEmbedding, GptBlock, GptHead>(shape);
}

}  // namespace nereus::worker
