#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "profile/profile.hpp"

namespace nereus::profile::machine_profile_test {
namespace {

Quantiles around(double median) { return {median, 0.9 * median, 1.2 * median, 5}; }
Quantiles over_five(double median) {
  return {median, 0.9 * median, 1.2 * median, 25, 5, 0.03 * median};
}

Profile whole() {
  Profile p;
  Machine& m = p.machine;
  m.context = {"CPU",
               "A CPU",
               "1.2",
               "libtorch 1.13.1",
               "0.1.0 abc",
               "2026-11-16T10:00:00Z",
               "here",
               "Linux",
               "shared",
               2,
               2,
               1,
               1,
               true,
               5};
  m.kernels = {{"gemm", "fp32", {2, 3, 4}, 48, 104, around(1e-6)},
               {"gemm", "fp32", {2, 3, 5}, 60, 124, over_five(1e-6)}};
  m.copies = {{"copy", 1 << 20, around(1e10)}, {"host_to_device_pinned", 1 << 20, around(5e10)}};
  m.links = {{0, 1, true, 4096, around(1e-5)}, {0, 1, true, 8192, around(2e-5)}};
  m.collectives = {{"all_reduce", "shared", 2, 1, 4096, around(1e-4)}};
  m.jitter = {around(1e-4), 0.1, 0.5};
  m.disk = {"/data", 1e6, {around(1e9), 3e6, 3e6}, {around(9e9), 3e6, 0}};
  m.preparations = {{"tokens", 2050, around(1e5)}};
  return p;
}

std::vector<std::string> codes_of(const std::string& text) {
  try {
    parse_profile(text, "p.json");
  } catch (const Errors& errors) {
    std::vector<std::string> codes;
    for (const Error& error : errors.list()) codes.push_back(error.code);
    return codes;
  }
  return {};
}
std::vector<std::string> codes_of(const Profile& p) { return codes_of(profile_to_json(p)); }
using Codes = std::vector<std::string>;

TEST(MachineProfile, ReadsBackAsItWasWritten) {
  EXPECT_EQ(parse_profile(profile_to_json(whole()), "p.json"), whole());
}

TEST(MachineProfile, PartsThatWereNotMeasuredAreLeftOut) {
  Profile p = whole();
  p.machine.disk = {};
  p.machine.jitter = {};
  p.machine.links.clear();
  const std::string text = profile_to_json(p);
  for (const char* key : {"\"disk\"", "\"jitter\"", "\"links\""})
    EXPECT_EQ(text.find(key), std::string::npos) << key;
  EXPECT_EQ(parse_profile(text, "p.json"), p);
  p = {};
  EXPECT_EQ(codes_of(p), Codes{"spec.range"}) << "neither layers nor a machine";
}

TEST(MachineProfile, LayersHaveSpreads) {
  Profile p = whole();
  MeasuredLayer l;
  l.model = "m";
  l.seq = 8;
  l.device = "CPU";
  l.precision = "fp32";
  l.samples = {1, 2};
  l.forward = {1e-3, 2e-3};
  l.forward_low = {0.9e-3, 1.9e-3};
  l.forward_high = {1.1e-3, 2.1e-3};
  p.layers = {l};
  EXPECT_EQ(parse_profile(profile_to_json(p), "p.json"), p);
  p.layers[0].processes = 5;
  p.layers[0].forward_half_width = {1e-5, 2e-5};
  EXPECT_EQ(parse_profile(profile_to_json(p), "p.json"), p);
  p.layers[0].forward_half_width = {1e-5};
  EXPECT_EQ(codes_of(p), Codes{"profile.length"});
  p.layers[0].forward_half_width = {1e-5, -1e-5};
  EXPECT_EQ(codes_of(p), Codes{"profile.value"});
  p.layers[0].forward_half_width = {1e-5, 2e-5};
  p.layers[0].processes = 1;
  EXPECT_EQ(codes_of(p), Codes{"profile.processes"});
  p.layers[0].processes = 0;
  p.layers[0].forward_half_width.clear();
  p.layers[0].forward_low[1] = 2.05e-3;
  EXPECT_EQ(codes_of(p), Codes{"profile.quantiles"});
  p.layers[0].forward_low = {1e-3};
  EXPECT_EQ(codes_of(p), Codes{"profile.length"});
}

TEST(MachineProfile, WhatCannotBeIsRefused) {
  Profile p = whole();
  p.machine.kernels[1].shape = p.machine.kernels[0].shape;
  EXPECT_EQ(codes_of(p), Codes{"profile.twice"});
  p = whole();
  p.machine.kernels[0].seconds.median = 0;
  EXPECT_EQ(codes_of(p), (Codes{"profile.value", "profile.quantiles"}));
  p = whole();
  p.machine.links[0].to = 0;
  EXPECT_EQ(codes_of(p), Codes{"profile.value"});
  p = whole();
  p.machine.links[1].bytes = p.machine.links[0].bytes;
  EXPECT_EQ(codes_of(p), Codes{"profile.twice"});
  p = whole();
  p.machine.collectives[0].hosts = 3;
  EXPECT_EQ(codes_of(p), Codes{"profile.value"});
  p = whole();
  p.machine.collectives[0].kind = "broadcast";
  EXPECT_EQ(codes_of(p), Codes{"spec.choice"});
  p = whole();
  p.machine.disk.warm.rate.low = 1e10;
  EXPECT_EQ(codes_of(p), Codes{"profile.quantiles"});
}

// Files of before there were several processes say nothing of them.
TEST(MachineProfile, IntervalsNeedProcesses) {
  const auto text = [](const std::string& more) {
    return R"({"schema_version": 1, "context": {"device": "CPU"}, "prepare": [{"kind": "tokens",
      "bytes": 1, "samples_per_s": {"median": 5, "low": 4, "high": 6, "repeats": 3)" +
           more + "}}]}";
  };
  const Quantiles old = parse_profile(text(""), "p").machine.preparations[0].rate;
  EXPECT_EQ(old, (Quantiles{5, 4, 6, 3, 0, 0}));
  EXPECT_FALSE(old.has_interval());
  EXPECT_EQ(codes_of(text(R"(, "processes": 1)")), Codes{});
  EXPECT_EQ(codes_of(text(R"(, "processes": 3, "half_width": 0.5)")), Codes{});
  EXPECT_EQ(codes_of(text(R"(, "processes": 3)")), Codes{"spec.missing-key"});
  EXPECT_EQ(codes_of(text(R"(, "half_width": 0.5)")), Codes{"profile.processes"});
  EXPECT_EQ(codes_of(text(R"(, "processes": 1000000, "half_width": 0.5)")),
            (Codes{"spec.range", "profile.processes"}));
  EXPECT_EQ(codes_of(text(R"(, "processes": 3, "half_width": -1)")), Codes{"spec.range"});
}

TEST(Quantiles, OfRepeats) {
  const Quantiles q = quantiles_of({5, 1, 2, 4, 3});
  EXPECT_DOUBLE_EQ(q.median, 3);
  EXPECT_DOUBLE_EQ(q.low, 1.4);
  EXPECT_DOUBLE_EQ(q.high, 4.6);
  EXPECT_EQ(q.repeats, 5);
  EXPECT_EQ(quantiles_of({7}), (Quantiles{7, 7, 7, 1}));
  EXPECT_EQ(quantiles_of({}), Quantiles{});
  const Quantiles rates = rates_of(100, {2, 1, 4});
  EXPECT_DOUBLE_EQ(rates.median, 50);
  EXPECT_LT(rates.low, rates.high);
}

TEST(Quantiles, AgreeWhereTheirRangesMeet) {
  const Quantiles a{10, 9, 11, 5};
  EXPECT_TRUE(ranges_meet(a, {11.5, 10.9, 13, 5}));
  EXPECT_FALSE(ranges_meet(a, {12, 11.5, 13, 5}));
  // A number without spread is still no finer than the machine's clock.
  EXPECT_TRUE(ranges_meet({10, 10, 10, 5}, {10.3, 10.3, 10.3, 5}));
  EXPECT_FALSE(ranges_meet({10, 10, 10, 5}, {10.6, 10.6, 10.6, 5}));
  EXPECT_NEAR(difference({10, 9, 11, 5}, {12, 9, 13, 5}), 0.2, 1e-12);
}

RC_GTEST_PROP(Quantiles, AreInOrderAndMeetThemselves, ()) {
  const auto values =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 100000)));
  std::vector<double> seconds;
  for (const int value : values) seconds.push_back(1e-6 * value);
  const Quantiles q = quantiles_of(seconds);
  RC_ASSERT(q.low <= q.median && q.median <= q.high);
  RC_ASSERT(ranges_meet(q, q));
  RC_ASSERT(difference(q, q) == 0);
}

}  // namespace
}  // namespace nereus::profile::machine_profile_test
