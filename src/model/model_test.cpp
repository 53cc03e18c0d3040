#include "model/model.hpp"

#include <gtest/gtest.h>

namespace nereus::model::model_test {
namespace {

Operator op_of(OpKind kind, double parameters, double flops, Split split = Split::kReplicated) {
  Operator op;
  op.kind = kind;
  op.split = split;
  op.parameters = parameters;
  op.flops = flops;
  return op;
}

// Two kinds of layers, four layers; the first and the last share 30 parameters.
Model small_model() {
  Model m;
  LayerKind a;
  a.name = "a";
  a.operators = {op_of(OpKind::kGemm, 100, 1000), op_of(OpKind::kNorm, 10, 7)};
  a.output_elements = 5;
  LayerKind b;
  b.name = "b";
  b.operators = {op_of(OpKind::kAttention, 0, 400), op_of(OpKind::kGemm, 60, 200, Split::kExperts),
                 op_of(OpKind::kElementwise, 3, 50, Split::kExperts)};
  b.output_elements = 8;
  m.kinds = {a, b};
  m.layers = {0, 1, 1, 0};
  m.tied = {{0, 3, 30}};
  return m;
}

TEST(Model, CountsEqualLayersEachAndTiedWeightsOnce) {
  const Model m = small_model();
  EXPECT_EQ(m.kinds[0].parameters(), 110);
  EXPECT_EQ(m.parameters(), 2 * 110 + 2 * 63 - 30);
}

TEST(Model, ExpertParametersAreThoseThatExpertParallelismDivides) {
  const Model m = small_model();
  EXPECT_EQ(m.kinds[0].expert_parameters(), 0);
  EXPECT_EQ(m.kinds[1].expert_parameters(), 63);
}

TEST(Model, TrainingFlopsAreThriceTheProductsAndNothingElse) {
  const Model m = small_model();
  EXPECT_EQ(m.kinds[1].forward_flops(), 650);
  EXPECT_EQ(m.training_flops(), 3 * (2 * 1000 + 2 * (400 + 200)));
}

TEST(Model, ConvolutionsAndInteractionsAreProductsToo) {
  Model m;
  m.kinds = {{"c",
              LayerRole::kOther,
              {op_of(OpKind::kConvolution, 0, 10), op_of(OpKind::kInteraction, 0, 1),
               op_of(OpKind::kPool, 0, 100), op_of(OpKind::kLoss, 0, 1000)}}};
  m.layers = {0};
  EXPECT_EQ(m.training_flops(), 3 * 11);
}

TEST(Model, AChainHasAnEdgeBetweenNeighbours) {
  Model m = small_model();
  const std::vector<Edge> chain = {{0, 1, 5}, {1, 2, 8}, {2, 3, 8}};
  EXPECT_EQ(all_edges(m), chain);
  m.edges = {{0, 2, 5}, {1, 3, 8}};
  EXPECT_EQ(all_edges(m), m.edges);
  m = {};
  EXPECT_TRUE(all_edges(m).empty());
}

}  // namespace
}  // namespace nereus::model::model_test
