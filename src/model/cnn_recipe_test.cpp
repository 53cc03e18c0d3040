// Names and shapes against torchvision's state dicts, written out from its modules.
#include "model/cnn_recipe.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/error.hpp"
#include "model/model.hpp"

namespace nereus::model::cnn_recipe_test {
namespace {

using Tensors = std::vector<CnnTensor>;

Tensors sorted(Tensors tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const CnnTensor& a, const CnnTensor& b) { return a.name < b.name; });
  return tensors;
}

Tensors tensors_of(const CnnShape& shape) {
  Tensors all;
  for (const CnnLayer& layer : cnn_recipe(shape))
    for (CnnTensor& tensor : parameters_of(layer)) all.push_back(std::move(tensor));
  return sorted(std::move(all));
}

std::string text_of(const Tensors& tensors) {
  std::string text;
  for (const CnnTensor& t : tensors)
    text += fmt::format("{} {}\n", t.name, fmt::join(t.shape, " "));
  return text;
}

void add_norm(Tensors& all, const std::string& name, std::int64_t channels) {
  all.push_back({name + ".weight", {channels}});
  all.push_back({name + ".bias", {channels}});
}

void add_dense(Tensors& all, const std::string& name, std::int64_t out, std::int64_t in) {
  all.push_back({name + ".weight", {out, in}});
  all.push_back({name + ".bias", {out}});
}

// Lines "conv norm out in height width".
Tensors from_lines(const char* lines) {
  Tensors all;
  std::istringstream in(lines);
  std::string conv, norm;
  std::int64_t o = 0, i = 0, h = 0, w = 0;
  while (in >> conv >> norm >> o >> i >> h >> w) {
    all.push_back({conv + ".weight", {o, i, h, w}});
    add_norm(all, norm, o);
  }
  return all;
}

TEST(CnnRecipe, Resnet18IsTorchvisions) {
  Tensors expected = from_lines(R"(conv1 bn1 64 3 7 7
layer1.0.conv1 layer1.0.bn1 64 64 3 3
layer1.0.conv2 layer1.0.bn2 64 64 3 3
layer1.1.conv1 layer1.1.bn1 64 64 3 3
layer1.1.conv2 layer1.1.bn2 64 64 3 3
layer2.0.conv1 layer2.0.bn1 128 64 3 3
layer2.0.conv2 layer2.0.bn2 128 128 3 3
layer2.0.downsample.0 layer2.0.downsample.1 128 64 1 1
layer2.1.conv1 layer2.1.bn1 128 128 3 3
layer2.1.conv2 layer2.1.bn2 128 128 3 3
layer3.0.conv1 layer3.0.bn1 256 128 3 3
layer3.0.conv2 layer3.0.bn2 256 256 3 3
layer3.0.downsample.0 layer3.0.downsample.1 256 128 1 1
layer3.1.conv1 layer3.1.bn1 256 256 3 3
layer3.1.conv2 layer3.1.bn2 256 256 3 3
layer4.0.conv1 layer4.0.bn1 512 256 3 3
layer4.0.conv2 layer4.0.bn2 512 512 3 3
layer4.0.downsample.0 layer4.0.downsample.1 512 256 1 1
layer4.1.conv1 layer4.1.bn1 512 512 3 3
layer4.1.conv2 layer4.1.bn2 512 512 3 3)");
  add_dense(expected, "fc", 1000, 512);
  EXPECT_EQ(text_of(tensors_of({.family = "resnet", .depth = 18})), text_of(sorted(expected)));
}

// Bottleneck b of stage s has 64 2^(s - 1) channels (times the width inside) and four times as many
// outside; the first of each stage has a shortcut, and all but stage 1 halve the image there.
Tensors bottlenecks(const std::vector<int>& blocks, int width) {
  Tensors all = from_lines("conv1 bn1 64 3 7 7");
  std::int64_t in = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (int b = 0; b < blocks[stage]; ++b) {
      const std::int64_t outside = std::int64_t{256} << stage, inside = outside / 4 * width;
      const std::string at = fmt::format("layer{}.{}.", stage + 1, b);
      all.push_back({at + "conv1.weight", {inside, in, 1, 1}});
      all.push_back({at + "conv2.weight", {inside, inside, 3, 3}});
      all.push_back({at + "conv3.weight", {outside, inside, 1, 1}});
      add_norm(all, at + "bn1", inside);
      add_norm(all, at + "bn2", inside);
      add_norm(all, at + "bn3", outside);
      if (b == 0) {
        all.push_back({at + "downsample.0.weight", {outside, in, 1, 1}});
        add_norm(all, at + "downsample.1", outside);
      }
      in = outside;
    }
  add_dense(all, "fc", 1000, in);
  return sorted(all);
}

TEST(CnnRecipe, Resnet50AndItsWideKindAreTorchvisions) {
  EXPECT_EQ(text_of(tensors_of({.family = "resnet", .depth = 50})),
            text_of(bottlenecks({3, 4, 6, 3}, 1)));
  EXPECT_EQ(text_of(tensors_of({.family = "resnet", .depth = 50, .width = 2})),
            text_of(bottlenecks({3, 4, 6, 3}, 2)));
}

TEST(CnnRecipe, Vgg11IsTorchvisionsWithNormsAndWithout) {
  struct Conv {
    int plain, with_norm;
    std::int64_t out, in;
  };
  const std::vector<Conv> convs = {{0, 0, 64, 3},      {3, 4, 128, 64},    {6, 8, 256, 128},
                                   {8, 11, 256, 256},  {11, 15, 512, 256}, {13, 18, 512, 512},
                                   {16, 22, 512, 512}, {18, 25, 512, 512}};
  for (const bool norm : {false, true}) {
    Tensors expected;
    for (const Conv& c : convs) {
      const int place = norm ? c.with_norm : c.plain;
      expected.push_back({fmt::format("features.{}.weight", place), {c.out, c.in, 3, 3}});
      expected.push_back({fmt::format("features.{}.bias", place), {c.out}});
      if (norm) add_norm(expected, fmt::format("features.{}", place + 1), c.out);
    }
    add_dense(expected, "classifier.0", 4096, 25088);
    add_dense(expected, "classifier.3", 4096, 4096);
    add_dense(expected, "classifier.6", 1000, 4096);
    EXPECT_EQ(text_of(tensors_of({.family = "vgg", .depth = 11, .batch_norm = norm})),
              text_of(sorted(expected)));
  }
}

// Each line a BasicConv2d: a convolution "conv" and its norm "bn".
constexpr const char* kInception = R"(Conv2d_1a_3x3 32 3 3 3
Conv2d_2a_3x3 32 32 3 3
Conv2d_2b_3x3 64 32 3 3
Conv2d_3b_1x1 80 64 1 1
Conv2d_4a_3x3 192 80 3 3
Mixed_5b.branch1x1 64 192 1 1
Mixed_5b.branch5x5_1 48 192 1 1
Mixed_5b.branch5x5_2 64 48 5 5
Mixed_5b.branch3x3dbl_1 64 192 1 1
Mixed_5b.branch3x3dbl_2 96 64 3 3
Mixed_5b.branch3x3dbl_3 96 96 3 3
Mixed_5b.branch_pool 32 192 1 1
Mixed_5c.branch1x1 64 256 1 1
Mixed_5c.branch5x5_1 48 256 1 1
Mixed_5c.branch5x5_2 64 48 5 5
Mixed_5c.branch3x3dbl_1 64 256 1 1
Mixed_5c.branch3x3dbl_2 96 64 3 3
Mixed_5c.branch3x3dbl_3 96 96 3 3
Mixed_5c.branch_pool 64 256 1 1
Mixed_5d.branch1x1 64 288 1 1
Mixed_5d.branch5x5_1 48 288 1 1
Mixed_5d.branch5x5_2 64 48 5 5
Mixed_5d.branch3x3dbl_1 64 288 1 1
Mixed_5d.branch3x3dbl_2 96 64 3 3
Mixed_5d.branch3x3dbl_3 96 96 3 3
Mixed_5d.branch_pool 64 288 1 1
Mixed_6a.branch3x3 384 288 3 3
Mixed_6a.branch3x3dbl_1 64 288 1 1
Mixed_6a.branch3x3dbl_2 96 64 3 3
Mixed_6a.branch3x3dbl_3 96 96 3 3
Mixed_6b.branch1x1 192 768 1 1
Mixed_6b.branch7x7_1 128 768 1 1
Mixed_6b.branch7x7_2 128 128 1 7
Mixed_6b.branch7x7_3 192 128 7 1
Mixed_6b.branch7x7dbl_1 128 768 1 1
Mixed_6b.branch7x7dbl_2 128 128 7 1
Mixed_6b.branch7x7dbl_3 128 128 1 7
Mixed_6b.branch7x7dbl_4 128 128 7 1
Mixed_6b.branch7x7dbl_5 192 128 1 7
Mixed_6b.branch_pool 192 768 1 1
Mixed_6c.branch1x1 192 768 1 1
Mixed_6c.branch7x7_1 160 768 1 1
Mixed_6c.branch7x7_2 160 160 1 7
Mixed_6c.branch7x7_3 192 160 7 1
Mixed_6c.branch7x7dbl_1 160 768 1 1
Mixed_6c.branch7x7dbl_2 160 160 7 1
Mixed_6c.branch7x7dbl_3 160 160 1 7
Mixed_6c.branch7x7dbl_4 160 160 7 1
Mixed_6c.branch7x7dbl_5 192 160 1 7
Mixed_6c.branch_pool 192 768 1 1
Mixed_6d.branch1x1 192 768 1 1
Mixed_6d.branch7x7_1 160 768 1 1
Mixed_6d.branch7x7_2 160 160 1 7
Mixed_6d.branch7x7_3 192 160 7 1
Mixed_6d.branch7x7dbl_1 160 768 1 1
Mixed_6d.branch7x7dbl_2 160 160 7 1
Mixed_6d.branch7x7dbl_3 160 160 1 7
Mixed_6d.branch7x7dbl_4 160 160 7 1
Mixed_6d.branch7x7dbl_5 192 160 1 7
Mixed_6d.branch_pool 192 768 1 1
Mixed_6e.branch1x1 192 768 1 1
Mixed_6e.branch7x7_1 192 768 1 1
Mixed_6e.branch7x7_2 192 192 1 7
Mixed_6e.branch7x7_3 192 192 7 1
Mixed_6e.branch7x7dbl_1 192 768 1 1
Mixed_6e.branch7x7dbl_2 192 192 7 1
Mixed_6e.branch7x7dbl_3 192 192 1 7
Mixed_6e.branch7x7dbl_4 192 192 7 1
Mixed_6e.branch7x7dbl_5 192 192 1 7
Mixed_6e.branch_pool 192 768 1 1
AuxLogits.conv0 128 768 1 1
AuxLogits.conv1 768 128 5 5
Mixed_7a.branch3x3_1 192 768 1 1
Mixed_7a.branch3x3_2 320 192 3 3
Mixed_7a.branch7x7x3_1 192 768 1 1
Mixed_7a.branch7x7x3_2 192 192 1 7
Mixed_7a.branch7x7x3_3 192 192 7 1
Mixed_7a.branch7x7x3_4 192 192 3 3
Mixed_7b.branch1x1 320 1280 1 1
Mixed_7b.branch3x3_1 384 1280 1 1
Mixed_7b.branch3x3_2a 384 384 1 3
Mixed_7b.branch3x3_2b 384 384 3 1
Mixed_7b.branch3x3dbl_1 448 1280 1 1
Mixed_7b.branch3x3dbl_2 384 448 3 3
Mixed_7b.branch3x3dbl_3a 384 384 1 3
Mixed_7b.branch3x3dbl_3b 384 384 3 1
Mixed_7b.branch_pool 192 1280 1 1
Mixed_7c.branch1x1 320 2048 1 1
Mixed_7c.branch3x3_1 384 2048 1 1
Mixed_7c.branch3x3_2a 384 384 1 3
Mixed_7c.branch3x3_2b 384 384 3 1
Mixed_7c.branch3x3dbl_1 448 2048 1 1
Mixed_7c.branch3x3dbl_2 384 448 3 3
Mixed_7c.branch3x3dbl_3a 384 384 1 3
Mixed_7c.branch3x3dbl_3b 384 384 3 1
Mixed_7c.branch_pool 192 2048 1 1)";

TEST(CnnRecipe, InceptionIsTorchvisions) {
  for (const bool aux : {false, true}) {
    Tensors expected;
    std::istringstream in(kInception);
    std::string name;
    std::int64_t o = 0, i = 0, h = 0, w = 0;
    while (in >> name >> o >> i >> h >> w) {
      if (!aux && name.starts_with("AuxLogits")) continue;
      expected.push_back({name + ".conv.weight", {o, i, h, w}});
      add_norm(expected, name + ".bn", o);
    }
    add_dense(expected, "fc", 1000, 2048);
    if (aux) add_dense(expected, "AuxLogits.fc", 1000, 768);
    EXPECT_EQ(text_of(tensors_of({.family = "inception", .aux_head = aux})),
              text_of(sorted(expected)));
  }
}

// Written out from torchvision's modules: a few of each kind, and how many there are.
TEST(CnnRecipe, SmallNetworksAreTorchvisions) {
  struct Expected {
    const char* family;
    std::size_t tensors;
    Tensors some;
  };
  const std::vector<Expected> all = {
      {"alexnet",
       16,
       {{"features.0.weight", {64, 3, 11, 11}},
        {"features.10.weight", {256, 256, 3, 3}},
        {"classifier.1.weight", {4096, 9216}},
        {"classifier.4.bias", {4096}},
        {"classifier.6.weight", {1000, 4096}}}},
      {"squeezenet",
       52,
       {{"features.0.weight", {96, 3, 7, 7}},
        {"features.3.squeeze.weight", {16, 96, 1, 1}},
        {"features.8.expand3x3.weight", {192, 48, 3, 3}},
        {"features.12.expand1x1.bias", {256}},
        {"classifier.1.weight", {1000, 512, 1, 1}}}},
      {"mobilenet",
       158,
       {{"features.0.0.weight", {32, 3, 3, 3}},
        {"features.1.conv.0.0.weight", {32, 1, 3, 3}},
        {"features.1.conv.1.weight", {16, 32, 1, 1}},
        {"features.1.conv.2.bias", {16}},
        {"features.17.conv.1.0.weight", {960, 1, 3, 3}},
        {"features.17.conv.2.weight", {320, 960, 1, 1}},
        {"features.18.1.weight", {1280}},
        {"classifier.1.weight", {1000, 1280}}}},
      {"shufflenet",
       170,
       {{"conv1.0.weight", {24, 3, 3, 3}},
        {"stage2.0.branch1.0.weight", {24, 1, 3, 3}},
        {"stage2.0.branch1.2.weight", {24, 24, 1, 1}},
        {"stage2.0.branch2.0.weight", {24, 24, 1, 1}},
        {"stage3.0.branch1.0.weight", {48, 1, 3, 3}},
        {"stage3.7.branch2.3.weight", {48, 1, 3, 3}},
        {"stage4.3.branch2.6.bias", {96}},
        {"conv5.0.weight", {1024, 192, 1, 1}},
        {"fc.weight", {1000, 1024}}}},
  };
  for (const Expected& own : all) {
    const Tensors tensors = tensors_of({.family = own.family});
    EXPECT_EQ(tensors.size(), own.tensors) << own.family;
    for (const CnnTensor& tensor : own.some)
      EXPECT_NE(std::find(tensors.begin(), tensors.end(), tensor), tensors.end())
          << own.family << " " << tensor.name;
  }
}

// In the order in which torchvision registers them: what buckets of gradients depend on.
TEST(CnnRecipe, TensorsComeInOrderOfRegistration) {
  std::vector<std::string> names;
  for (const CnnLayer& layer : cnn_recipe({.family = "shufflenet"}))
    for (const CnnTensor& tensor : parameters_of(layer)) names.push_back(tensor.name);
  const std::vector<std::string> unit(names.begin() + 3, names.begin() + 3 + 15);
  const std::vector<std::string> expected = {
      "stage2.0.branch1.0.weight", "stage2.0.branch1.1.weight", "stage2.0.branch1.1.bias",
      "stage2.0.branch1.2.weight", "stage2.0.branch1.3.weight", "stage2.0.branch1.3.bias",
      "stage2.0.branch2.0.weight", "stage2.0.branch2.1.weight", "stage2.0.branch2.1.bias",
      "stage2.0.branch2.3.weight", "stage2.0.branch2.4.weight", "stage2.0.branch2.4.bias",
      "stage2.0.branch2.5.weight", "stage2.0.branch2.6.weight", "stage2.0.branch2.6.bias"};
  EXPECT_EQ(unit, expected);
}

// The recipe is the graph that plans are made for: the same layers, edges and parameters.
TEST(CnnRecipe, AgreesWithTheGraphLayerByLayer) {
  for (const CnnShape& shape :
       {CnnShape{.family = "resnet", .depth = 34, .channels = 8, .image = 64},
        CnnShape{.family = "resnet", .depth = 101, .width = 2},
        CnnShape{.family = "vgg", .depth = 19}, CnnShape{.family = "inception", .aux_head = true},
        CnnShape{.family = "alexnet"}, CnnShape{.family = "squeezenet"},
        CnnShape{.family = "mobilenet"}, CnnShape{.family = "shufflenet"}}) {
    const Model model = build_cnn(shape);
    const std::vector<CnnLayer> recipe = cnn_recipe(shape);
    ASSERT_EQ(static_cast<int>(recipe.size()), model.num_layers());
    std::vector<std::vector<int>> inputs(recipe.size());
    for (const Edge& edge : all_edges(model)) inputs[edge.to].push_back(edge.from);
    inputs[0] = {-1};
    for (std::size_t i = 0; i < recipe.size(); ++i) {
      EXPECT_EQ(recipe[i].inputs, inputs[i]) << i;
      double parameters = 0;
      for (const CnnTensor& tensor : parameters_of(recipe[i])) {
        double elements = 1;
        for (const std::int64_t length : tensor.shape) elements *= static_cast<double>(length);
        parameters += elements;
      }
      EXPECT_EQ(parameters, model.layer(static_cast<int>(i)).parameters()) << i;
      EXPECT_EQ(recipe[i].out.elements(), model.layer(static_cast<int>(i)).output_elements) << i;
    }
  }
}

TEST(CnnRecipe, NarrowNetworksHaveFewerChannelsEverywhere) {
  const auto classifies = [](const std::string& name) {
    return name.starts_with("fc") || name.starts_with("classifier.6") ||
           name.starts_with("AuxLogits.fc");
  };
  for (const CnnShape& published :
       {CnnShape{.family = "resnet", .depth = 18}, CnnShape{.family = "vgg", .depth = 11},
        CnnShape{.family = "inception", .aux_head = true}}) {
    CnnShape small = published;
    small.channels = 8;
    const Tensors narrow = tensors_of(small), whole = tensors_of(published);
    ASSERT_EQ(narrow.size(), whole.size());
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      EXPECT_EQ(narrow[i].name, whole[i].name);
      EXPECT_EQ(narrow[i].shape[0] * (classifies(narrow[i].name) ? 1 : 8), whole[i].shape[0])
          << narrow[i].name;
    }
  }
  EXPECT_THROW(cnn_recipe({.family = "inception", .channels = 6}), Errors);
  EXPECT_THROW(cnn_recipe({.family = "vgg", .depth = 11, .channels = 0}), Errors);
}

}  // namespace
}  // namespace nereus::model::cnn_recipe_test
