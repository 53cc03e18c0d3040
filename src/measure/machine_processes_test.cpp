#include "measure/machine_processes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/random.hpp"
#include "measure/machine_compare.hpp"

namespace nereus::measure::machine_processes_test {
namespace {

using profile::Profile;
using profile::Quantiles;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Quantiles at(double median) { return {median, 0.9 * median, 1.1 * median, 3}; }

profile::MeasuredLayer block(std::vector<double> samples, std::vector<double> seconds) {
  profile::MeasuredLayer layer;
  layer.model = "m";
  layer.layer = "block";
  layer.seq = 8;
  layer.device = "CPU";
  layer.precision = "fp32";
  layer.samples = std::move(samples);
  layer.forward = layer.forward_low = layer.forward_high = seconds;
  layer.backward = layer.backward_low = layer.backward_high = seconds;
  layer.update = seconds.front();
  return layer;
}

// Everything takes `slower` times as long as in another process.
Profile process(double slower) {
  Profile p;
  profile::Machine& m = p.machine;
  m.context.device = "CPU";
  m.kernels = {{"gemm", "fp32", {8, 8, 8}, 1024, 768, at(1e-6 * slower)},
               {"norm", "fp32", {8, 8}, 64, 64, at(2e-6 * slower)}};
  m.copies = {{"copy", 1e6, at(1e9 / slower)}};
  m.links = {{0, 1, true, 4096, at(1e-5 * slower)}};
  m.collectives = {{"all_reduce", "shared", 2, 1, 4096, at(1e-4 * slower)}};
  m.jitter = {at(1e-4 * slower), 0.1 * slower, 0.5 * slower};
  m.disk = {"/data", 1e6, {at(1e9), 3e6, 2e6}, {at(9e9), 3e6, 0}};
  m.preparations = {{"tokens", 10, at(1e5)}};
  p.layers = {block({1, 2}, {1e-3 * slower, 2e-3 * slower})};
  return p;
}

TEST(JoinProcesses, EveryNumberIsTheMeanWithAnInterval) {
  const Profile all = join_processes({process(1), process(1.2), process(1.1)});
  const profile::Machine& m = all.machine;
  EXPECT_EQ(m.context.processes, 3);
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[1].shape, (std::vector<std::int64_t>{8, 8}));
  EXPECT_EQ(m.kernels[1].flops, 64);
  // s = 0.1, t(0.975, 2) = 4.30265.
  const double half = 4.30265 * 0.1 / std::sqrt(3);
  EXPECT_NEAR(m.kernels[0].seconds.median, 1.1e-6, 1e-12);
  EXPECT_NEAR(m.kernels[0].seconds.half_width, 1e-6 * half, 1e-11);
  EXPECT_NEAR(m.kernels[1].seconds.half_width, 2e-6 * half, 1e-11);
  EXPECT_EQ(m.kernels[0].seconds.repeats, 9);
  EXPECT_NEAR(m.links.at(0).seconds.half_width, 1e-5 * half, 1e-10);
  EXPECT_NEAR(m.collectives.at(0).seconds.median, 1.1e-4, 1e-10);
  EXPECT_NEAR(m.jitter.seconds.median, 1.1e-4, 1e-10);
  EXPECT_NEAR(m.jitter.p99, 0.11, 1e-12);
  EXPECT_DOUBLE_EQ(m.jitter.worst, 0.6);
  EXPECT_EQ(m.copies.at(0).rate.processes, 3);
  EXPECT_EQ(m.preparations.at(0).rate.half_width, 0);
  EXPECT_EQ(m.disk.cold.bytes_read, 9e6);
  EXPECT_EQ(m.disk.cold.bytes_loaded, 6e6);
  EXPECT_EQ(m.disk.folder, "/data");
  const profile::MeasuredLayer& layer = all.layers.at(0);
  EXPECT_EQ(layer.processes, 3);
  EXPECT_NEAR(layer.forward[1], 2.2e-3, 1e-9);
  EXPECT_NEAR(layer.backward_half_width[1], 2e-3 * half, 1e-8);
  EXPECT_NEAR(layer.update, 1.1e-3, 1e-9);
  EXPECT_EQ(profile::parse_profile(profile::profile_to_json(all), "p.json"), all);
}

TEST(JoinProcesses, OneProcessStaysWhatItIs) {
  Profile one = process(1);
  one.notes = {"a note"};
  Profile all = join_processes({one});
  EXPECT_THAT(all.notes, ElementsAre("a note"));
  EXPECT_EQ(all.machine.kernels[0].seconds.processes, 1);
  EXPECT_EQ(all.machine.kernels[0].seconds.median, one.machine.kernels[0].seconds.median);
  EXPECT_TRUE(all.layers[0].forward_half_width.empty());
  EXPECT_EQ(profile::parse_profile(profile::profile_to_json(all), "p.json"), all);
}

TEST(JoinProcesses, WhatAProcessLacksIsLeftOut) {
  Profile few = process(1), none = process(1);
  few.layers = {block({1}, {1e-3})};
  few.layers[0].backward = few.layers[0].backward_low = few.layers[0].backward_high = {};
  few.machine.jitter = {};
  few.machine.kernels.pop_back();
  few.notes = {"busy"};
  Profile all = join_processes({process(1), few});
  EXPECT_EQ(all.layers.at(0).samples, std::vector<double>{1});
  EXPECT_TRUE(all.layers[0].backward.empty());
  EXPECT_EQ(all.machine.kernels.size(), 1u);
  EXPECT_EQ(all.machine.jitter, profile::Jitter{});
  EXPECT_THAT(all.notes, ElementsAre("process 2: busy"));
  none.layers.clear();
  all = join_processes({process(1), none});
  EXPECT_TRUE(all.layers.empty());
  EXPECT_THAT(all.notes, ElementsAre(HasSubstr("block is omitted: only 1 of 2 processes")));
}

// A run of a simulated machine of 50 kernels: processes differ by 4 %, repeats of one by 1 %.
// Kernels from `changed` on take `factor` times as long.
Profile run(Random& random, int num_processes, std::size_t changed, double factor) {
  const auto normal = [&] {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    return radius * std::cos(2 * std::numbers::pi * random.uniform());
  };
  std::vector<Profile> processes;
  for (int p = 0; p < num_processes; ++p) {
    Profile own;
    own.machine.context.device = "CPU";
    for (std::size_t i = 0; i < 50; ++i) {
      const double luck = 1 + 0.04 * normal();
      std::vector<double> repeats;
      for (int r = 0; r < 3; ++r)
        repeats.push_back(1e-3 * luck * (1 + 0.01 * normal()) * (i >= changed ? factor : 1));
      own.machine.kernels.push_back({"gemm",
                                     "fp32",
                                     {static_cast<std::int64_t>(i) + 1},
                                     1,
                                     1,
                                     profile::quantiles_of(repeats)});
    }
    processes.push_back(std::move(own));
  }
  return join_processes(processes);
}

// At family-wise 95 % one pair of runs in twenty may have a number that differs. Of 400 pairs 20
// are expected, with a standard deviation of 4.4.
TEST(JoinProcesses, TwoRunsOfOneMachineAgreeNineteenTimesInTwenty) {
  Random random(7);
  constexpr int kPairs = 400;
  int differ = 0;
  for (int i = 0; i < kPairs; ++i) {
    const Comparison c = compare_machines(run(random, 5, 50, 1), run(random, 5, 50, 1));
    EXPECT_EQ(c.num_tested, 50);
    EXPECT_DOUBLE_EQ(c.confidence, 1 - 0.05 / 50);
    if (!c.agree()) ++differ;
  }
  EXPECT_LE(differ, 33);
  EXPECT_GE(differ, 3) << "intervals so wide that they say nothing";
}

TEST(JoinProcesses, AnotherMachineIsFound) {
  Random random(8);
  const Comparison c = compare_machines(run(random, 8, 50, 1), run(random, 8, 40, 1.3));
  EXPECT_EQ(c.num_differing(), 10);
  for (std::size_t i = 0; i < c.numbers.size(); ++i) EXPECT_EQ(c.numbers[i].agrees, i < 40) << i;
}

}  // namespace
}  // namespace nereus::measure::machine_processes_test
