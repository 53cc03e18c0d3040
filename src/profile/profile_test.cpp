#include "profile/profile.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"

namespace nereus::profile::profile_test {
namespace {

MeasuredLayer block() {
  MeasuredLayer l;
  l.model = "gpt";
  l.seq = 2048;
  l.hidden = 1024;
  l.parameters = 12596224;
  l.device = "A100-40";
  l.precision = "fp32";
  l.samples = {1, 2, 4};
  l.forward = {1e-3, 1.5e-3, 2.5e-3};
  l.backward = {2e-3, 3e-3, 5e-3};
  return l;
}

std::vector<std::string> codes_of(const std::string& text) {
  std::vector<std::string> codes;
  try {
    parse_profile(text, "p.json");
  } catch (const Errors& errors) {
    for (const Error& error : errors.list()) codes.push_back(error.code);
  }
  return codes;
}

std::vector<std::string> codes_of(const MeasuredLayer& layer) {
  return codes_of(profile_to_json({{}, {}, {layer}}));
}

using Codes = std::vector<std::string>;

TEST(Profile, ComesBackTheSame) {
  Profile profile;
  profile.origin = {"github.com/a/b 123", "MIT", "2026-01-01", "torch 2.1", "550.54"};
  profile.notes = {"a note"};
  profile.layers = {block(), block()};
  profile.layers[1].role = Role::kHead;
  profile.layers[1].seq = 0;
  profile.layers[1].elements = 2097152;
  profile.layers[1].tp = 4;
  profile.layers[1].update = 1e-3;
  profile.layers[1].includes_collectives = true;
  profile.layers[1].includes_launches = true;
  profile.layers[1].fitted = true;
  profile.layers[1].backward.clear();
  profile.layers[1].memory = 3e6;
  EXPECT_EQ(parse_profile(profile_to_json(profile), "p.json"), profile);
}

TEST(Profile, ImpossibleValuesAreRefused) {
  EXPECT_EQ(codes_of(block()), Codes{});
  MeasuredLayer l = block();
  l.forward[1] = -1e-3;
  EXPECT_EQ(codes_of(l), Codes{"profile.value"});
  l = block();
  l.backward[2] = 3601;
  EXPECT_EQ(codes_of(l), Codes{"profile.value"});
  l = block();
  const std::string none = R"({"schema_version": 1, "layers": [{"model": "m", "role": "block",
      "seq": 1, "device": "d", "precision": "fp32", "tp": 1, "samples": [1], "forward_s": [1],
      "memory_bytes": 0}]})";
  EXPECT_EQ(codes_of(none), Codes{"profile.value"});
  l = block();
  l.samples = {1, 4, 2};
  EXPECT_EQ(codes_of(l), Codes{"profile.order"});
  l = block();
  l.samples = {0, 1, 2};
  EXPECT_EQ(codes_of(l), Codes{"profile.value"});
  l = block();
  l.forward.pop_back();
  EXPECT_EQ(codes_of(l), Codes{"profile.length"});
  l = block();
  l.seq = 0;
  EXPECT_EQ(codes_of(l), Codes{"profile.shape"});
  l = block();
  l.forward = {1e-3, 3e-4, 4e-3};
  EXPECT_EQ(codes_of(l), Codes{"profile.not-monotone"});
  EXPECT_EQ(codes_of(profile_to_json({{}, {}, {block(), block()}})), Codes{"profile.twice"});
  EXPECT_EQ(codes_of(R"({"schema_version": 9, "layers": []})"), Codes{"profile.schema-version"});
  EXPECT_EQ(codes_of(R"({"schema_version": 1, "layrs": [], "layers": [{}]})").empty(), false);
}

TEST(Profile, NoiseIsTaken) {
  MeasuredLayer l = block();
  l.forward = {1e-3, 0.9e-3, 4e-3};
  EXPECT_EQ(codes_of(l), Codes{});
  const RepairedCurve repaired = curve_of(l.samples, l.forward);
  EXPECT_EQ(repaired.moved, 2);
  EXPECT_NEAR(repaired.most, 0.95 / 0.9, 1e-12);
  EXPECT_DOUBLE_EQ(repaired.curve.at(1), 0.95e-3);
  EXPECT_DOUBLE_EQ(repaired.curve.at(2), 0.95e-3);
  EXPECT_DOUBLE_EQ(repaired.curve.at(4), 4e-3);
}

TEST(TimeCurve, LinesBetweenAndBeyondPoints) {
  const TimeCurve curve{{2, 4, 8}, {3, 4, 8}};
  EXPECT_DOUBLE_EQ(curve.at(2), 3);
  EXPECT_DOUBLE_EQ(curve.at(3), 3.5);
  EXPECT_DOUBLE_EQ(curve.at(8), 8);
  EXPECT_DOUBLE_EQ(curve.at(12), 12) << "the last line goes on";
  EXPECT_DOUBLE_EQ((TimeCurve{{1, 2}, {2, 3}}.at(4)), 6) << "no quicker a sample than the last";
  EXPECT_DOUBLE_EQ((TimeCurve{{1, 2}, {2, 6}}.at(4)), 14) << "slower, where it was getting slower";
  EXPECT_DOUBLE_EQ(curve.at(1), 2.5) << "the first line goes back";
  EXPECT_TRUE(curve.is_measured(3));
  EXPECT_FALSE(curve.is_measured(1));
  EXPECT_FALSE(curve.is_measured(9));
  EXPECT_DOUBLE_EQ((TimeCurve{{2, 4}, {3, 12}}.at(1)), 1.5) << "no less than in proportion";
  EXPECT_DOUBLE_EQ((TimeCurve{{4}, {3}}.at(2)), 1.5);
}

// No other curve of the same levels that never falls is nearer: moving one level breaks the order
// or adds to the squares.
TEST(TimeCurve, IsTheNearestThatNeverFalls) {
  const RepairedCurve r = curve_of({1, 2, 3, 4, 5}, {1, 4, 3, 2, 5});
  EXPECT_EQ(r.curve.seconds, (std::vector<double>{1, 3, 3, 3, 5}));
  EXPECT_EQ(r.moved, 2);
  EXPECT_DOUBLE_EQ(r.most, 1.5);
  EXPECT_EQ(curve_of(r.curve.samples, r.curve.seconds).moved, 0);
}

RC_GTEST_PROP(TimeCurve, NeverFalls, ()) {
  const int n = *rc::gen::inRange(1, 8);
  std::vector<double> samples, seconds;
  for (int i = 0; i < n; ++i) {
    samples.push_back((i > 0 ? samples.back() : 0) + *rc::gen::inRange(1, 5));
    seconds.push_back(1e-3 * *rc::gen::inRange(1, 1000));
  }
  const TimeCurve curve = curve_of(samples, seconds).curve;
  double last = 0;
  for (double s = 0.25; s < samples.back() + 8; s += 0.25) {
    RC_ASSERT(curve.at(s) >= last * (1 - 1e-12));
    last = curve.at(s);
  }
}

}  // namespace
}  // namespace nereus::profile::profile_test
