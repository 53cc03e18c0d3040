#include "profile/deeppool.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "profile/import_file.hpp"

namespace nereus::profile::deeppool_test {
namespace {

constexpr const char* kTwoBatches =
    "   conv2d{\"in_channels\":3,\"kernel_size\":3,\"out_channels\":64}[8][3,4,4]  0.1  100  6\n"
    "   ReLU2d{\"inplace\":true}[8][64,4,4]  0.2  20  300\n"
    "   maxPool2d{\"kernel_size\":2}[8][64,4,4] 0.1 10 20\n"
    "   flatten{\"kernel_size\":1}[8][64,2,2] 0.1 5 5\n"
    "   linear{\"bias\":true,\"in_features\":256,\"out_features\":10}[8]256 0.1 30 40\n"
    "                            SUM(avg)  103.081\n"
    "conv2d{\"in_channels\":3,\"kernel_size\":3,\"out_channels\":64}[1][3,4,4] 0.1 50 0\n"
    "ReLU2d{\"inplace\":true}[1][64,4,4] 0.2 10 70\n"
    "maxPool2d{\"kernel_size\":2}[1][64,4,4] 0.1 4 5\n"
    "flatten{\"kernel_size\":1}[1][64,2,2] 0.1 1 1\n"
    "linear{\"bias\":true,\"in_features\":256,\"out_features\":10}[1]256 0.1 20 30\n"
    "  12.5\n";

std::string code_of(const std::string& text) {
  try {
    read_deeppool(text, "A100_x.prof");
  } catch (const Errors& errors) {
    return errors.list().front().code;
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(DeepPool, ActivationsAndViewsJoinTheLayerBefore) {
  const DeepPoolProfile p = read_deeppool(kTwoBatches, "A100_x.prof");
  ASSERT_EQ(p.blocks.size(), 3U);
  EXPECT_EQ(p.blocks[0].name, "conv2d+ReLU2d");
  EXPECT_EQ(p.blocks[1].name, "maxPool2d+flatten");
  EXPECT_EQ(p.blocks[0].parameters, 3 * 9 * 64 + 64);
  EXPECT_EQ(p.blocks[2].parameters, 256 * 10 + 10);
  EXPECT_EQ(p.blocks[0].elements, 48);
  EXPECT_EQ(p.blocks[2].elements, 256);
  EXPECT_EQ(p.blocks[0].samples, (std::vector<double>{1, 8}));
  EXPECT_NEAR(p.blocks[0].forward[1], 120e-6, 1e-12);
  EXPECT_NEAR(p.blocks[0].backward[1], 306e-6, 1e-12);
  EXPECT_NEAR(p.blocks[0].seconds().at(1), 130e-6, 1e-12);
  EXPECT_NEAR(p.blocks[1].seconds().at(8), 40e-6, 1e-12);
}

TEST(DeepPool, WhatHasNoTimeIsRefused) {
  EXPECT_EQ(code_of(kTwoBatches), "");
  EXPECT_EQ(code_of(replaced(kTwoBatches, "0.1 20 30", "0 0 0")), "profile.no-time");
  EXPECT_EQ(code_of(replaced(kTwoBatches, "0.1 20 30", "0.1 -20 30")), "profile.value");
  EXPECT_EQ(code_of(replaced(kTwoBatches, "maxPool2d{\"kernel_size\":2}[1][64,4,4] 0.1 4 5\n", "")),
            "profile.no-layer");
  EXPECT_EQ(code_of(replaced(kTwoBatches, "linear", "lstm")), "profile.layer");
  EXPECT_EQ(code_of(replaced(kTwoBatches, "[8][3,4,4]", "[3,4,4]")), "profile.line");
  EXPECT_EQ(code_of("nothing\n"), "profile.line");
  EXPECT_EQ(code_of("\n"), "profile.empty");
}

TEST(DeepPool, BecomesAProfile) {
  const Profile p = import_profiles({{"data/A100_x.prof", kTwoBatches}});
  ASSERT_EQ(p.layers.size(), 3U);
  EXPECT_EQ(p.layers[0].device, "A100");
  EXPECT_EQ(p.layers[0].model, "x");
  EXPECT_EQ(p.layers[1].role, Role::kOther);
  EXPECT_EQ(p.layers[2].role, Role::kHead);
  EXPECT_EQ(parse_profile(profile_to_json(p), "own.json").layers, p.layers);
  EXPECT_EQ(form_of({"x.prof", kTwoBatches}), ProfileForm::kDeepPool);
  EXPECT_EQ(form_of({"x.json", "{\"a\": 1}"}), ProfileForm::kNone);
}

}  // namespace
}  // namespace nereus::profile::deeppool_test
