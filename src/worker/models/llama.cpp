// LLaMA (Touvron 2023, 2302.13971) with Hugging Face's names: RMS norms, rotary positions, gated
// MLP with SiLU, grouped keys and values, no biases.
#include <fmt/format.h>

#include "worker/device/torch_compat.hpp"
#include "worker/models/vocabulary.hpp"
#include "worker/ops/attention_op.hpp"
#include "worker/ops/linear.hpp"
#include "worker/ops/team.hpp"

namespace nereus::worker {

namespace {

constexpr double kLlamaEpsilon = 1e-5;
constexpr double kLlamaDeviation = 0.02;
constexpr double kTheta = 10000;
constexpr Init kLlamaNormal{Init::kNormal, kLlamaDeviation};
constexpr WeightLayout kLlamaLayout = WeightLayout::kOutIn;

class LlamaEmbedding : public Layer {
 public:
  explicit LlamaEmbedding(const model::TransformerShape& shape) : shape_(shape) {}

  std::vector<Parameter> parameters() const override {
    return {{"model.embed_tokens.weight", {shape_.vocab, shape_.hidden}, {0, 1}, kLlamaNormal}};
  }

  at::Tensor forward(const std::vector<at::Tensor>&, const Weights& w,
                     PassContext& pass) const override {
    return drop(embed_tokens(w, 0, shape_.vocab, pass), index, 0, pass);
  }

 private:
  model::TransformerShape shape_;
};

class LlamaBlock : public Layer {
 public:
  LlamaBlock(const model::TransformerShape& shape, int number) : shape_(shape), number_(number) {}

  std::vector<Parameter> parameters() const override {
    const std::int64_t h = shape_.hidden, f = shape_.ffn, d = shape_.head_dim;
    const auto named = [&](const char* name) {
      return fmt::format("model.layers.{}.{}.weight", number_, name);
    };
    return {{named("input_layernorm"), {h}, {}, {Init::kOne}},
            {named("self_attn.q_proj"), {shape_.heads * d, h}, {0, 1}, kLlamaNormal},
            {named("self_attn.k_proj"), {shape_.kv_heads * d, h}, {0, 1}, kLlamaNormal},
            {named("self_attn.v_proj"), {shape_.kv_heads * d, h}, {0, 1}, kLlamaNormal},
            {named("self_attn.o_proj"), {h, shape_.heads * d}, {1, 1}, kLlamaNormal},
            {named("post_attention_layernorm"), {h}, {}, {Init::kOne}},
            {named("mlp.gate_proj"), {f, h}, {0, 1}, kLlamaNormal},
            {named("mlp.up_proj"), {f, h}, {0, 1}, kLlamaNormal},
            {named("mlp.down_proj"), {h, f}, {1, 1}, kLlamaNormal}};
  }

  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights& w,
                     PassContext& pass) const override {
    const at::Tensor x = in[0] + drop(attention_branch(in[0], w, pass), index, 0, pass);
    return x + drop(mlp_branch(x, w, pass), index, 1, pass);
  }

 private:
  at::Tensor attention_branch(const at::Tensor& x, const Weights& w, PassContext& pass) const {
    const at::Tensor entered = enter_region(rms_norm(x, w.values[0], kLlamaEpsilon), pass);
    const std::int64_t heads = shape_.heads / pass.tensor_size();
    const std::int64_t kv_heads = shape_.kv_heads / pass.tensor_size();
    const auto part = [&](int weight, std::int64_t count) {
      return split_heads(linear(entered, w, weight, -1, kLlamaLayout, pass), count);
    };
    const at::Tensor q = rotate(part(1, heads), kTheta);
    at::Tensor k = rotate(part(2, kv_heads), kTheta), v = part(3, kv_heads);
    if (heads != kv_heads) {
      k = k.repeat_interleave(heads / kv_heads, 1);
      v = v.repeat_interleave(heads / kv_heads, 1);
    }
    const at::Tensor mixed = join_heads(attend(q, k, v, shape_.causal, pass));
    return leave_region(linear(mixed, w, 4, -1, kLlamaLayout, pass), pass);
  }

  at::Tensor mlp_branch(const at::Tensor& x, const Weights& w, PassContext& pass) const {
    const at::Tensor entered = enter_region(rms_norm(x, w.values[5], kLlamaEpsilon), pass);
    const at::Tensor inner = at::silu(linear(entered, w, 6, -1, kLlamaLayout, pass)) *
                             linear(entered, w, 7, -1, kLlamaLayout, pass);
    return leave_region(linear(inner, w, 8, -1, kLlamaLayout, pass), pass);
  }

  model::TransformerShape shape_;
  int number_;
};

class LlamaHead : public Layer {
 public:
  explicit LlamaHead(const model::TransformerShape& shape) : shape_(shape) {}

  std::vector<Parameter> parameters() const override {
    const std::int64_t h = shape_.hidden;
    return {{"model.norm.weight", {h}, {}, {Init::kOne}},
            head_table(shape_, "model.embed_tokens.weight", kLlamaNormal)};
  }

  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights& w,
                     PassContext& pass) const override {
    return token_loss(rms_norm(in[0], w.values[0], kLlamaEpsilon), w, 1, shape_.vocab, pass);
  }

 private:
  model::TransformerShape shape_;
};

}  // namespace

Layers build_llama(const model::TransformerShape& shape) {
  return stack_layers<LlamaEmbedding, LlamaBlock, LlamaHead>(shape);
}

}  // namespace nereus::worker
