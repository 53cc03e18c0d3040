// Small models, their jobs, and samples with a pattern to learn: for tests.
#pragma once

#include "base/random.hpp"
#include "plan/expand.hpp"
#include "plan/rules.hpp"
#include "plan/test_models.hpp"
#include "worker/execute/executor.hpp"
#include "worker/execute/masking.hpp"

namespace nereus::worker::testing {

inline model::TransformerShape small_shape(const std::string& family) {
  model::TransformerShape shape;
  shape.name = "small-" + family;
  shape.family = family;
  shape.layers = 4;
  shape.hidden = 32;
  shape.heads = 4;
  shape.ffn = 64;
  shape.vocab = 61;  // not divisible
  shape.seq = 16;
  shape.tied_embeddings = true;
  return shape;
}

inline model::Model small_gpt() { return model::build_transformer(small_shape("gpt")); }

inline model::Model small_llama() {
  model::TransformerShape shape = small_shape("llama");
  shape.kv_heads = 2;
  shape.ffn = 48;
  shape.vocab = 64;
  shape.tied_embeddings = false;
  shape.gated_mlp = true;
  shape.bias = false;
  shape.norm = model::NormKind::kRmsNorm;
  shape.position = model::PositionKind::kRotary;
  return model::build_transformer(shape);
}

// Residual blocks and shortcuts, 21 thousand parameters. The last norms see images of 2 x 2, so
// that a group with one sample has a variance.
// The last norms are over (image / 32)^2 values of a sample.
inline model::Model small_resnet_of(int image) {
  return model::build_cnn({.name = "small-resnet",
                           .family = "resnet",
                           .depth = 10,
                           .channels = 4,
                           .image = image,
                           .classes = 10});
}
inline model::Model small_resnet() { return small_resnet_of(64); }

inline model::Model small_bert() {
  model::TransformerShape shape = small_shape("bert");
  shape.causal = false;
  return model::build_transformer(shape);
}

inline job::Job make_job(const model::Model& model, const plan::Degrees& degrees) {
  job::Job job;
  job.plan.model = model;
  job.plan.degrees = degrees;
  job.plan.cluster = plan::testing::make_cluster(degrees.num_ranks());
  job.plan.placement = plan::expand(degrees, model);
  // A high rate, so that differences would show. In bf16 they do: rounding changes a gradient by up
  // to 0.4 %, and with steps of 1e-2 this grows to 2.5 % of the loss in 20 steps. In fp32 with
  // norms over one sample they do too: from 1e-7 in the first step to 2 % with steps of 1e-2.
  const bool exact = degrees.precision == cluster::Precision::kFp64;
  const bool narrow = degrees.precision == cluster::Precision::kBf16;
  job.training.rate = narrow || (model.cnn && !exact) ? 1e-3 : 1e-2;
  job.training.weight_decay = 0.1;
  if (model.cnn) job.training.norm_group = 1;  // the same under every plan
  return job;
}

// Tokens with a pattern to learn, which depend only on (step, sample).
inline Batch read_tokens(const model::TransformerShape& shape, std::int64_t step,
                         std::int64_t first, std::int64_t count) {
  at::Tensor tokens = at::empty({count, shape.seq + 1}, at::kLong);
  for (std::int64_t i = 0; i < count; ++i) {
    Random random = Random(17).stream(static_cast<std::uint64_t>(step * 1000 + first + i));
    auto* row = tokens[i].data_ptr<std::int64_t>();
    std::uint64_t token = random.below(static_cast<std::uint64_t>(shape.vocab));
    for (int s = 0; s <= shape.seq; ++s) {
      row[s] = static_cast<std::int64_t>(token);
      token = (token * 5 + 3 + random.below(3)) % static_cast<std::uint64_t>(shape.vocab);
    }
  }
  return {tokens.narrow(1, 0, shape.seq).contiguous(), tokens.narrow(1, 1, shape.seq).contiguous()};
}

// Images that show their class, which depend only on (step, sample).
inline Batch read_images(const model::CnnShape& shape, std::int64_t step, std::int64_t first,
                         std::int64_t count) {
  Batch batch{at::empty({count, 3, shape.image, shape.image}, at::kFloat),
              at::empty({count}, at::kLong)};
  for (std::int64_t i = 0; i < count; ++i) {
    Random random = Random(23).stream(static_cast<std::uint64_t>(step * 1000 + first + i));
    const auto label =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(shape.classes)));
    batch.targets[i] = label;
    auto* pixel = batch.inputs[i].data_ptr<float>();
    for (int c = 0; c < 3 * shape.image * shape.image; ++c)
      pixel[c] = static_cast<float>((c / 97 + label * 7) % 11) / 11 +
                 static_cast<float>(random.below(1000)) / 1000 - 1;
  }
  return batch;
}

inline ReadBatch reader_of(const model::Model& model) {
  if (model.cnn)
    return [shape = *model.cnn](std::int64_t step, std::int64_t first, std::int64_t count) {
      return read_images(shape, step, first, count);
    };
  return [shape = *model.transformer](std::int64_t step, std::int64_t first, std::int64_t count) {
    Batch batch = read_tokens(shape, step, first, count);
    return shape.family == "bert" ? hide_words(batch.inputs, shape, 0, step, first) : batch;
  };
}

}  // namespace nereus::worker::testing
