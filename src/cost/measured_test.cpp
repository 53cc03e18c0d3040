#include "cost/measured.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "cost/measured_testing.hpp"
#include "model/read/load_model.hpp"

namespace nereus::cost::measured_test {
namespace {

using profile::MeasuredLayer;
using testing::opt_profile;
using testing::plain_cluster;

std::vector<Error> errors_of(const profile::Profile& p, const model::Model& model) {
  try {
    match_layers({{p, "p.json"}}, model, plain_cluster());
  } catch (const Errors& errors) {
    return errors.list();
  }
  return {};
}

TEST(Measured, WhatDoesNotMatchIsAnError) {
  const model::Model opt = model::load_model("opt-350m");
  EXPECT_TRUE(errors_of(opt_profile(), opt).empty());
  const std::vector<Error> other = errors_of(opt_profile(), model::load_model("gpt2-xl"));
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].code, "profile.no-model");
  EXPECT_NE(other[0].message.find("2048 tokens per sample, not 1,024"), std::string::npos)
      << other[0].message;
  profile::Profile elsewhere = opt_profile();
  for (MeasuredLayer& l : elsewhere.layers) l.device = "T4";
  EXPECT_EQ(errors_of(elsewhere, opt).at(0).code, "profile.no-device");
  profile::Profile strange = opt_profile();
  for (MeasuredLayer& l : strange.layers) l.precision = "fp31";
  EXPECT_EQ(errors_of(strange, opt).at(0).code, "profile.precision");
}

TEST(Measured, AbsurdTimesAreSaid) {
  const model::Model model = model::load_model("opt-350m");
  profile::Profile fast = opt_profile();
  fast.layers[2].forward = {1e-6, 2e-6, 4e-6};  // of 0.2 TFLOP on 100 TFLOP/s
  const MeasuredLayers without = match_layers({{fast, "p.json"}}, model, plain_cluster());
  ASSERT_EQ(without.notes.size(), 1u);
  EXPECT_NE(without.notes[0].find("not used: head"), std::string::npos);
  profile::Profile waits = opt_profile();  // an embedding computes nothing, and may wait for links
  waits.layers[0].forward = {0.3, 0.4, 0.5};
  EXPECT_TRUE(errors_of(waits, model).empty());
  profile::Profile slow = opt_profile();
  for (double& f : slow.layers[1].forward) f *= 1000;  // milliseconds
  EXPECT_EQ(errors_of(slow, model).at(0).code, "profile.absurd");
}

TEST(Measured, AbsurdEmbeddingsAndHeadsAreSaid) {
  const model::Model model = model::load_model("opt-350m");
  for (const std::size_t which : {0, 2})
    for (const bool back : {false, true})
      for (const double factor : {1e4, 1e5}) {
        profile::Profile slow = opt_profile();
        MeasuredLayer& own = slow.layers[which];
        for (double& f : back ? own.backward : own.forward) f *= factor;
        const std::vector<Error> errors = errors_of(slow, model);
        if (factor * own.forward.front() < 10) continue;  // an embedding in 1 s: it may wait
        ASSERT_EQ(errors.size(), 1u) << which << " " << back << " " << factor;
        EXPECT_EQ(errors[0].code, "profile.absurd");
        EXPECT_NE(errors[0].message.find("a block of it takes"), std::string::npos)
            << errors[0].message;
      }
  // Cut, with blocks that are not: they stand in.
  profile::Profile cut = opt_profile();
  cut.layers[2].tp = 2;
  EXPECT_TRUE(errors_of(cut, model).empty());
  for (double& f : cut.layers[2].forward) f *= 1e4;
  EXPECT_EQ(errors_of(cut, model).at(0).code, "profile.absurd");
}

TEST(Measured, AbsurdUpdatesAndMemoryAreSaid) {
  const model::Model model = model::load_model("opt-350m");
  profile::Profile p = opt_profile();
  p.layers[1].update = 0.003;
  p.layers[1].memory = 4e8;
  EXPECT_TRUE(errors_of(p, model).empty());
  p.layers[1].update = 3000;
  EXPECT_EQ(errors_of(p, model).at(0).code, "profile.absurd");
  p.layers[1].update = 0.003;
  p.layers[1].memory = 4e14;
  EXPECT_EQ(errors_of(p, model).at(0).code, "profile.absurd");
}

TEST(Measured, NoLayerThatFitsIsSaidWithTheReason) {
  const auto message = [](const profile::Profile& p, const model::Model& model) {
    const std::vector<Error> errors = errors_of(p, model);
    EXPECT_EQ(errors.size(), 1u);
    if (errors.empty()) return std::string();
    EXPECT_EQ(errors[0].code, "profile.no-model");
    return errors[0].message;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const model::Model opt = model::load_model("opt-350m");
  profile::Profile ends = opt_profile();
  ends.layers.erase(ends.layers.begin() + 1);
  has(message(ends, opt), "it has embedding on plain, head on plain, and no block there");
  profile::Profile quick = opt_profile();
  quick.layers[1].forward = {1e-6, 2e-6, 4e-6};
  has(message(quick, opt), "the device's peak needs");
  has(message(opt_profile(), model::load_model("mixtral-8x7b")), "have experts or tables");
  // What is wrong already needs no second word.
  profile::Profile slow = opt_profile();
  for (double& f : slow.layers[1].forward) f *= 1000;
  ASSERT_EQ(errors_of(slow, opt).size(), 1u);
}

TEST(Measured, ReasonsAreThoseOfTheProfileInHand) {
  profile::Profile other = opt_profile();
  for (MeasuredLayer& l : other.layers) l.seq = 1024;
  profile::Profile ends = opt_profile();
  ends.layers.erase(ends.layers.begin() + 1);
  try {
    match_layers({{other, "other.json"}, {ends, "ends.json"}}, model::load_model("opt-350m"),
                 plain_cluster());
    FAIL();
  } catch (const Errors& errors) {
    ASSERT_EQ(errors.list().size(), 2u);
    EXPECT_NE(errors.list()[0].message.find("1024 tokens"), std::string::npos);
    EXPECT_EQ(errors.list()[1].message.find("1024 tokens"), std::string::npos);
  }
}

}  // namespace
}  // namespace nereus::cost::measured_test
