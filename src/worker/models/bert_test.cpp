#include <gtest/gtest.h>

#include "worker/models/models.hpp"
#include "worker/worker_testing.hpp"

namespace nereus::worker {
namespace {

// What a plan places is what the worker holds, layer by layer.
TEST(Layers, HaveTheParametersThatTheModelCounts) {
  for (const model::Model& model :
       {testing::small_gpt(), testing::small_llama(), testing::small_bert()}) {
    const Layers layers = build_layers(model);
    for (int i = 0; i < model.num_layers(); ++i) {
      double elements = 0;
      for (const Parameter& p : layers[i]->parameters())
        elements += static_cast<double>(slice_elements(p, 0, 1));
      EXPECT_EQ(elements, model.layer(i).parameters()) << model.name << " layer " << i;
    }
  }
}

Weights random_weights(const Layer& layer) {
  Weights weights;
  for (const Parameter& p : layer.parameters()) {
    weights.values.push_back(at::randn(p.shape, at::kDouble) * 0.2);
    weights.gradients.push_back(at::zeros(p.shape, at::kDouble));
  }
  return weights;
}

// A block is libtorch's own encoder layer: norms after the sums, exact GELU, no mask.
TEST(Bert, BlockIsTheEncoderLayerOfLibtorch) {
  const model::Model model = testing::small_bert();
  const Layers layers = build_layers(model);
  const Weights weights = random_weights(*layers[1]);
  const auto& w = weights.values;
  torch::nn::TransformerEncoderLayer reference(
      torch::nn::TransformerEncoderLayerOptions(32, 4).dim_feedforward(64).dropout(0).activation(
          torch::kGELU));
  reference->to(at::kDouble);
  {
    const at::NoGradGuard no_graph;
    auto named = reference->named_parameters();
    named["self_attn.in_proj_weight"].copy_(at::cat({w[0], w[2], w[4]}));
    named["self_attn.in_proj_bias"].copy_(at::cat({w[1], w[3], w[5]}));
    named["self_attn.out_proj.weight"].copy_(w[6]);
    named["self_attn.out_proj.bias"].copy_(w[7]);
    named["norm1.weight"].copy_(w[8]);
    named["norm1.bias"].copy_(w[9]);
    named["linear1.weight"].copy_(w[10]);
    named["linear1.bias"].copy_(w[11]);
    named["linear2.weight"].copy_(w[12]);
    named["linear2.bias"].copy_(w[13]);
    named["norm2.weight"].copy_(w[14]);
    named["norm2.bias"].copy_(w[15]);
  }
  PassContext pass;
  const at::Tensor x = at::randn({3, 16, 32}, at::kDouble);
  const at::Tensor got = layers[1]->forward({x}, weights, pass);
  const at::Tensor expected = reference->forward(x.transpose(0, 1)).transpose(0, 1);
  // Its norms have an epsilon of 1e-5, BERT's 1e-12.
  EXPECT_LT((got - expected).abs().max().item<double>(), 1e-4);
}

// Only hidden words count, each with the weight of its logits' cross entropy.
TEST(Bert, LossIsTheCrossEntropyOfHiddenWords) {
  const model::Model model = testing::small_bert();
  const Layers layers = build_layers(model);
  const Layer& head = *layers.back();
  const Weights weights = random_weights(head);
  const auto& w = weights.values;
  PassContext pass;
  pass.batch = testing::reader_of(model)(0, 0, 3);
  const at::Tensor x = at::randn({3, 16, 32}, at::kDouble);
  const double got = head.forward({x}, weights, pass).item<double>();
  const at::Tensor inner =
      at::layer_norm(at::gelu(at::linear(x, w[0], w[1])), {32}, w[2], w[3], 1e-12);
  const at::Tensor all =
      at::full({3, 16}, -100, at::kLong).scatter_(1, pass.batch.positions, pass.batch.targets);
  const at::Tensor logits = at::linear(inner, w[4], w[5]).view({48, 61});
  const double expected =
      at::cross_entropy_loss(logits, all.view({48}), {}, at::Reduction::Sum).item<double>();
  EXPECT_NEAR(got, expected, 1e-9);
}

}  // namespace
}  // namespace nereus::worker
