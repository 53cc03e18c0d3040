#include "model/cnn.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/model.hpp"

namespace nereus::model {
namespace {

struct Published {
  CnnShape shape;
  double parameters;  // num_params of torchvision's weights
  double gmacs;       // "GFLOPS" there; 0: not compared
};

double forward_gmacs(const Model& m) { return m.training_flops() / 3 / 2 / 1e9; }

class CnnPublished : public testing::TestWithParam<Published> {};

TEST_P(CnnPublished, ParametersAndFlopsAgreeWithTorchvision) {
  const Published& row = GetParam();
  const Model m = build_cnn(row.shape);
  EXPECT_EQ(m.parameters(), row.parameters);
  if (row.gmacs > 0) {
    EXPECT_NEAR(forward_gmacs(m), row.gmacs, 0.01 * row.gmacs);
  }
}

CnnShape resnet(int depth, int width = 1) {
  return {.family = "resnet", .depth = depth, .width = width};
}
CnnShape vgg(int depth, bool norm) { return {.family = "vgg", .depth = depth, .batch_norm = norm}; }
CnnShape inception(bool aux) { return {.family = "inception", .depth = 3, .aux_head = aux}; }

INSTANTIATE_TEST_SUITE_P(
    Torchvision, CnnPublished,
    testing::Values(
        Published{resnet(18), 11689512, 1.814}, Published{resnet(34), 21797672, 3.664},
        Published{resnet(50), 25557032, 4.089}, Published{resnet(101), 44549160, 7.801},
        Published{resnet(152), 60192808, 11.514}, Published{resnet(50, 2), 68883240, 11.398},
        Published{resnet(101, 2), 126886696, 22.753}, Published{vgg(11, false), 132863336, 7.609},
        Published{vgg(13, false), 133047848, 11.308}, Published{vgg(16, false), 138357544, 15.470},
        Published{vgg(19, false), 143667240, 19.632}, Published{vgg(11, true), 132868840, 7.609},
        Published{vgg(13, true), 133053736, 11.308}, Published{vgg(16, true), 138365992, 15.470},
        Published{vgg(19, true), 143678248, 19.632}, Published{inception(true), 27161264, 5.713},
        Published{inception(false), 23834568, 5.713}, Published{resnet(10), 5418792, 0},
        Published{resnet(12), 10139432, 0}, Published{resnet(16), 11615528, 0}));

// Every layer but the first has an input, every layer but the last is read, and what a layer reads
// is what its producers hand out.
void expect_sound_graph(const Model& m) {
  const std::vector<Edge> edges = all_edges(m);
  std::vector<double> in(m.layers.size(), 0);
  std::vector<int> readers(m.layers.size(), 0);
  for (const Edge& e : edges) {
    ASSERT_LT(e.from, e.to);
    EXPECT_EQ(e.elements, m.layer(e.from).output_elements);
    in[static_cast<size_t>(e.to)] += e.elements;
    ++readers[static_cast<size_t>(e.from)];
  }
  for (int i = 0; i < m.num_layers(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (i > 0) {
      EXPECT_EQ(in[at], m.layer(i).input_elements) << m.layer(i).name;
    }
    EXPECT_EQ(readers[at] == 0, i + 1 == m.num_layers()) << m.layer(i).name;
  }
}

TEST(Cnn, GraphsAreSound) {
  expect_sound_graph(build_cnn(resnet(18)));
  expect_sound_graph(build_cnn(resnet(152)));
  expect_sound_graph(build_cnn(inception(true)));
  expect_sound_graph(build_cnn(inception(false)));
  expect_sound_graph(build_cnn(vgg(16, true)));
}

TEST(Cnn, LayersAreTheOnesAPlannerPlaces) {
  // 1 + 3 x 16 + 4 shortcuts convolutions, 16 sums, two pools, one classifier.
  EXPECT_EQ(build_cnn(resnet(50)).num_layers(), 53 + 16 + 2 + 1);
  const Model v = build_cnn(vgg(16, false));
  EXPECT_EQ(v.num_layers(), 13 + 5 + 1 + 3);
  EXPECT_TRUE(v.edges.empty()) << "VGG is a chain";
  // 94 convolutions, 14 pools, 15 concatenations (11 blocks, 4 fans), one classifier.
  EXPECT_EQ(build_cnn(inception(false)).num_layers(), 94 + 14 + 15 + 1);
}

TEST(Cnn, EqualLayersShareAKind) {
  const Model m = build_cnn(resnet(152));
  EXPECT_LT(m.kinds.size(), 40U);
  EXPECT_GT(m.layers.size(), 200U);
}

TEST(Cnn, SavedActivationsAreInTheKnownRange) {
  // torch keeps about 22 million elements a sample for ResNet-50 at 224: each of 53 convolution
  // outputs for its norm (11.1 million), the activations, and the pool's index.
  double saved = 0;
  const Model m = build_cnn(resnet(50));
  for (int i = 0; i < m.num_layers(); ++i)
    for (const Operator& op : m.layer(i).operators) saved += op.saved_elements;
  EXPECT_GT(saved, 19e6);
  EXPECT_LT(saved, 24e6);
}

TEST(Cnn, FlopsGrowWithTheImage) {
  CnnShape small = resnet(50);
  small.image = 112;
  EXPECT_NEAR(forward_gmacs(build_cnn(small)), 4.089 / 4, 0.1);
  EXPECT_EQ(build_cnn(small).parameters(), 25557032);
}

TEST(Cnn, ImpossibleShapesAreRefusedAllAtOnce) {
  try {
    build_cnn(
        {.family = "vgg", .depth = 12, .width = 2, .image = 31, .classes = 0, .aux_head = true});
    FAIL();
  } catch (const Errors& e) {
    std::vector<std::string> codes;
    for (const Error& error : e.list()) codes.push_back(error.code);
    EXPECT_EQ(codes, (std::vector<std::string>{"model.depth", "model.image", "model.classes",
                                               "model.width", "model.aux-head"}));
  }
  EXPECT_THROW(build_cnn({.family = "resnext", .depth = 50}), Errors);
  EXPECT_THROW(build_cnn({.family = "inception", .image = 298, .aux_head = true}), Errors);
}

TEST(Cnn, SmallestImagesBuild) {
  EXPECT_GT(build_cnn({.family = "resnet", .depth = 50, .image = 1}).num_layers(), 0);
  EXPECT_GT(build_cnn({.family = "vgg", .depth = 19, .image = 32}).num_layers(), 0);
  EXPECT_GT(build_cnn({.family = "inception", .image = 75}).num_layers(), 0);
  EXPECT_GT(build_cnn({.family = "inception", .image = 299, .aux_head = true}).num_layers(), 0);
}

}  // namespace
}  // namespace nereus::model
