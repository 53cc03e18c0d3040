#include "app/predict/profiles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/plan/plan_verb.hpp"
#include "base/error.hpp"
#include "profile/profile.hpp"
#include "spec/source.hpp"
#include "tests/source_dir.hpp"

namespace nereus::app::profiles_test {
namespace {

using ::testing::HasSubstr;
using Kind = LayerSource::Kind;

std::string sailor(const std::string& device) {
  return source_dir() + "/data/profiles/sailor/OPT-350/" + device + "/profile.json";
}

PredictRequest on_a100(int micro_batch) {
  PredictRequest request;
  request.model.model = "opt-350m";
  request.cluster.cluster = "1xa2-highgpu-4g";
  request.degrees.micro_batch = micro_batch;
  request.degrees.global_batch = 8 * micro_batch;
  request.calibration.profiles = {sailor("A100-40")};
  return request;
}

std::string code_of(const PredictRequest& request) {
  try {
    predict(request);
  } catch (const Errors& errors) {
    return errors.list().front().code;
  }
  return "";
}

// The profile with all times of one role multiplied; false where it has no such layer.
bool write_scaled(const std::string& from, const char* role, double factor, const std::string& to) {
  profile::Profile own = profile::parse_profile(spec::read_text_file(from), from);
  bool any = false;
  for (profile::MeasuredLayer& layer : own.layers) {
    if (to_string(layer.role) != role) continue;
    any = true;
    for (std::vector<double>* times : {&layer.forward, &layer.backward})
      for (double& own_time : *times) own_time *= factor;
    layer.forward_low = layer.forward_high = layer.backward_low = layer.backward_high = {};
    layer.forward_half_width = layer.backward_half_width = {};
  }
  std::ofstream(to) << profile::profile_to_json(own);
  return any;
}

TEST(Profiles, SaysOfEveryLayerWhereItsTimeIsFrom) {
  const PredictAnswer inside = predict(on_a100(4));
  EXPECT_EQ(inside.plan.degrees->precision, cluster::Precision::kFp32) << "that of the profile";
  ASSERT_EQ(inside.sources.size(), 3u);
  for (const LayerSource& own : inside.sources) EXPECT_EQ(own.kind, Kind::kMeasured) << own.layer;
  EXPECT_THAT(inside.sources[0].why, HasSubstr("backward was not measured"));
  EXPECT_EQ(inside.sources[1].high, 8);
  // As Sailor wrote them: 24 blocks, and the head; the embedding's backward is a model's.
  const double blocks = 2 * 24 * (0.0098 + 0.0244);
  EXPECT_NEAR(inside.prediction.part(cost::Part::kCompute), blocks, 0.15 * blocks);

  const PredictAnswer beyond = predict(on_a100(16));
  EXPECT_EQ(beyond.sources[1].kind, Kind::kExtrapolated);
  EXPECT_THAT(beyond.sources[1].why, HasSubstr("16 samples; 1 to 8 were measured"));
}

TEST(Profiles, WhatNoProfileHasIsModelledAndSaid) {
  PredictRequest request = on_a100(1);
  request.cluster.cluster = "1xa2-highgpu-4g+1xp3.8xlarge";
  const PredictAnswer mixed = predict(request);
  int modelled = 0;
  for (const LayerSource& own : mixed.sources)
    if (own.device == "V100-SXM-16GB") {
      EXPECT_EQ(own.kind, Kind::kModelled);
      EXPECT_EQ(own.why, "no profile covers this device at this precision");
      ++modelled;
    }
  EXPECT_EQ(modelled, 3);
  request.calibration.profiles.push_back(sailor("V100-16"));
  for (const LayerSource& own : predict(request).sources) EXPECT_EQ(own.kind, Kind::kMeasured);
  EXPECT_GT(predict(request).prediction.step, 0);

  request = on_a100(1);
  request.cluster.cluster = "1xa2-highgpu-8g";
  request.degrees.tp = 8;
  const PredictAnswer wide = predict(request);
  EXPECT_EQ(wide.sources[1].kind, Kind::kExtrapolated);
  EXPECT_EQ(wide.sources[1].why,
            "tp 8 was not measured, only 1, 2, 4; modelled time, scaled by measured over modelled "
            "time at tp 1");
}

TEST(Profiles, WhatDoesNotFitIsRefused) {
  PredictRequest request = on_a100(1);
  request.degrees.precision = cluster::Precision::kBf16;
  EXPECT_EQ(code_of(request), "profile.no-precision");
  request = on_a100(1);
  request.degrees.precision = cluster::Precision::kTf32;
  EXPECT_EQ(code_of(request), "");
  request.model.model = "gpt2";
  EXPECT_EQ(code_of(request), "profile.no-model");
  request = on_a100(1);
  request.cluster.cluster = "1xdgx-h100";
  EXPECT_EQ(code_of(request), "profile.no-device");
}

// Nothing that was really measured is called absurd; what is a hundred thousand times it is.
TEST(Profiles, ShippedOnesAreNotAbsurd) {
  const std::vector<std::pair<std::string, std::string>> sailors = {{"A100-40", "1xa2-highgpu-4g"},
                                                                    {"V100-16", "1xp3.8xlarge"}};
  for (const auto& [device, cluster] : sailors) {
    PredictRequest request = on_a100(1);
    request.cluster.cluster = cluster;
    request.calibration.profiles = {sailor(device)};
    EXPECT_EQ(code_of(request), "") << device;
  }
  for (const char* model :
       {"bert-large", "gpt2", "gpt2-medium", "gpt2-xl", "llama3.2-1b", "resnet50", "vgg16"}) {
    PredictRequest request;
    request.model.model = model;
    request.cluster.cluster = "1xdgx-h200";
    if (std::string(model) == "llama3.2-1b") request.degrees.seq = 2048;
    request.calibration.profiles = {source_dir() + "/data/profiles/h200/" + model + ".json"};
    EXPECT_EQ(code_of(request), "") << model;
    for (const char* role : {"head", "other"}) {
      const std::string scaled = ::testing::TempDir() + "/scaled.json";
      if (!write_scaled(request.calibration.profiles.front(), role, 1e5, scaled)) continue;
      PredictRequest absurd = request;
      absurd.calibration.profiles = {scaled};
      EXPECT_EQ(code_of(absurd), "profile.absurd") << model << " " << role;
    }
  }
}

TEST(Profiles, PlansAreOfMeasuredLayers) {
  PlanRequest request;
  request.model.model = "opt-350m";
  request.cluster.cluster = "1xa2-highgpu-4g+1xp3.8xlarge";
  request.choices.global_batch = 64;
  request.calibration.profiles = {sailor("A100-40"), sailor("V100-16")};
  const PlanAnswer answer = plan(request);
  ASSERT_FALSE(answer.plans.empty());
  const PredictAnswer& best = answer.plans.front();
  EXPECT_FALSE(best.sources.empty());
  // Predicted again from its placement it is the same.
  EXPECT_NEAR(predict(best.plan).prediction.step, best.prediction.step,
              1e-9 * best.prediction.step);
}

}  // namespace
}  // namespace nereus::app::profiles_test
