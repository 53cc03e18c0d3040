#include "model/cnn.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/model.hpp"

namespace nereus::model::cnn_test {
namespace {

struct Published {
  CnnShape shape;
  double parameters;  // num_params of torchvision's weights
  double gmacs;       // "GFLOPS" there; 0: not compared
};

double forward_gmacs(const Model& m) { return m.training_flops() / 3 / 2 / 1e9; }

class CnnPublished : public ::testing::TestWithParam<Published> {};

TEST_P(CnnPublished, ParametersAndFlopsAgreeWithTorchvision) {
  const Published& row = GetParam();
  const Model m = build_cnn(row.shape);
  EXPECT_EQ(m.parameters(), row.parameters);
  if (row.gmacs > 0) {
    constexpr double kLastDigit = 0.0005;
    EXPECT_NEAR(forward_gmacs(m), row.gmacs, std::max(kLastDigit, 0.01 * row.gmacs));
  }
}

CnnShape resnet(int depth, int width = 1) {
  return {.family = "resnet", .depth = depth, .width = width};
}
CnnShape vgg(int depth, bool norm) { return {.family = "vgg", .depth = depth, .batch_norm = norm}; }
CnnShape inception(bool aux) { return {.family = "inception", .depth = 3, .aux_head = aux}; }
CnnShape resnet_without_norms(int depth) {
  return {.family = "resnet", .depth = depth, .batch_norm = false};
}
CnnShape only(const char* family) { return {.family = family}; }

INSTANTIATE_TEST_SUITE_P(
    Torchvision, CnnPublished,
    ::testing::Values(
        Published{resnet(18), 11689512, 1.814}, Published{resnet(34), 21797672, 3.664},
        Published{resnet(50), 25557032, 4.089}, Published{resnet(101), 44549160, 7.801},
        Published{resnet(152), 60192808, 11.514}, Published{resnet(50, 2), 68883240, 11.398},
        Published{resnet(101, 2), 126886696, 22.753}, Published{vgg(11, false), 132863336, 7.609},
        Published{vgg(13, false), 133047848, 11.308}, Published{vgg(16, false), 138357544, 15.470},
        Published{vgg(19, false), 143667240, 19.632}, Published{vgg(11, true), 132868840, 7.609},
        Published{vgg(13, true), 133053736, 11.308}, Published{vgg(16, true), 138365992, 15.470},
        Published{vgg(19, true), 143678248, 19.632}, Published{inception(true), 27161264, 5.713},
        Published{inception(false), 23834568, 5.713}, Published{resnet(10), 5418792, 0},
        Published{resnet(12), 10139432, 0}, Published{resnet(16), 11615528, 0},
        Published{only("alexnet"), 61100840, 0.714}, Published{only("squeezenet"), 1248424, 0.819},
        Published{only("mobilenet"), 3504872, 0.301}, Published{only("shufflenet"), 1366792, 0.04},
        // Less two for each of 4,800 and 26,560 channels that a norm had.
        Published{resnet_without_norms(18), 11689512 - 2 * 4800, 1.814},
        Published{resnet_without_norms(50), 25557032 - 2 * 26560, 4.089}));

// Every layer but the first has an input, every layer but the last is read, and what a layer reads
// is what its producers hand out.
void expect_sound_graph(const Model& m) {
  const std::vector<Edge> edges = all_edges(m);
  std::vector<double> in(m.layers.size(), 0);
  std::vector<int> readers(m.layers.size(), 0);
  for (const Edge& e : edges) {
    ASSERT_LT(e.from, e.to);
    EXPECT_EQ(e.elements, m.layer(e.from).output_elements);
    in[e.to] += e.elements;
    ++readers[e.from];
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
  for (const char* family : {"alexnet", "squeezenet", "mobilenet", "shufflenet"})
    expect_sound_graph(build_cnn(only(family)));
}

// A channel of its own filter each: nine products a value, not nine times the channels.
TEST(Cnn, DepthwiseConvolutionsCountTheirGroups) {
  const Model m = build_cnn(only("mobilenet"));
  const LayerKind& first = m.layer(1);
  EXPECT_EQ(first.name, "conv3x3 groups 32 32x112x112 -> 32x112x112 norm relu6");
  EXPECT_EQ(first.operators[0].parameters, 32 * 9);
  EXPECT_EQ(first.operators[0].flops, 2.0 * 32 * 112 * 112 * 9);
  EXPECT_EQ(first.operators[0].groups, 32);
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
  EXPECT_GT(build_cnn({.family = "alexnet", .image = 63}).num_layers(), 0);
  EXPECT_THROW(build_cnn({.family = "alexnet", .image = 62}), Errors);
  EXPECT_GT(build_cnn({.family = "squeezenet", .image = 21}).num_layers(), 0);
  EXPECT_THROW(build_cnn({.family = "squeezenet", .image = 20}), Errors);
  EXPECT_GT(build_cnn({.family = "mobilenet", .image = 1}).num_layers(), 0);
  EXPECT_GT(build_cnn({.family = "shufflenet", .image = 1}).num_layers(), 0);
  EXPECT_THROW(build_cnn({.family = "mobilenet", .batch_norm = false}), Errors);
  EXPECT_THROW(build_cnn({.family = "shufflenet", .channels = 12}), Errors);
}

}  // namespace
}  // namespace nereus::model::cnn_test
