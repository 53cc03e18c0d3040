#include "app/measure/measure_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "app/app_testing.hpp"
#include "app/measure/measure_processes.hpp"
#include "app/plan/plan_verb.hpp"
#include "base/base_testing.hpp"
#include "cluster/this_machine.hpp"
#include "tests/source_dir.hpp"

namespace nereus::app::measure_machine_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

profile::Quantiles around(double median) { return {median, 0.9 * median, 1.1 * median, 5}; }

// Two ranks of this machine; collectives of 1 GB/s without latency.
profile::Profile measured_here() {
  profile::Profile p;
  p.machine.context.device = "CPU";
  p.machine.context.device_name = cluster::this_cpu();
  p.machine.context.library = "fake 1.0";
  p.machine.context.backend = "shared";
  p.machine.context.ranks = 2;
  p.machine.context.threads = 1;
  for (const double bytes : {1e5, 1e7})
    p.machine.collectives.push_back({"all_reduce", "shared", 2, 1, bytes, around(bytes / 1e9)});
  p.machine.links = {{0, 1, true, 1e7, around(1e-2)}};
  return p;
}

class MeasureMachine : public testing::WithFakeWorker {
 protected:
  std::string save(const char* name, const profile::Profile& profile) const {
    return folder_.write(name, profile::profile_to_json(profile));
  }
  static MeasureRequest request() {
    MeasureRequest r;
    r.train.worker = testing::fake_worker();
    r.train.machine.comm.clear();
    r.ranks = 2;
    r.processes = 1;
    return r;
  }
  static PredictRequest step_here(const std::string& profile) {
    PredictRequest r;
    r.model = {"gpt2", {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"vocab", "512"}}};
    r.degrees.seq = 32;
    r.degrees.dp = 2;
    r.degrees.global_batch = 4;
    r.cluster.cluster = "this-machine:2";
    if (!profile.empty()) r.calibration.profiles = {profile};
    return r;
  }
};

TEST_F(MeasureMachine, IsWhatTheWorkerWroteWithItsContext) {
  setenv("FAKE_PROFILE", save("fake.json", measured_here()).c_str(), 1);
  std::vector<std::string> said;
  MeasureWatch watch;
  watch.say = [&](const std::string& what) { said.push_back(what); };
  const MeasureAnswer answer = measure_machine(request(), watch);
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_EQ(answer.profile.machine.context.processes, 1);
  ASSERT_EQ(answer.profile.machine.collectives.size(), 2u);
  EXPECT_EQ(answer.profile.machine.collectives[1].seconds.median, 1e-2);
  EXPECT_EQ(answer.profile.machine.links.size(), 1u);
  EXPECT_EQ(answer.profile.origin.library, "fake 1.0");
  EXPECT_THAT(said, ElementsAre("process 1: gemm 2 x 3 x 4"));
  EXPECT_TRUE(answer.slow_links.empty());
}

// Each process measures anew, and the interval is over what they found.
TEST_F(MeasureMachine, ProcessesAreStartedAnewAndJoined) {
  for (int i = 0; i < 3; ++i) {
    profile::Profile own = measured_here();
    own.machine.links[0].seconds = around(1e-2 * (i + 1));
    save(("profile-" + std::to_string(i) + ".json").c_str(), own);
  }
  setenv("FAKE_PROFILE", folder_.path().c_str(), 1);
  MeasureRequest r = request();
  r.processes = 3;
  std::vector<std::string> said;
  MeasureWatch watch;
  watch.say = [&](const std::string& what) { said.push_back(what); };
  const MeasureAnswer answer = measure_machine(r, watch);
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_EQ(said.size(), 3u);
  const profile::Quantiles& link = answer.profile.machine.links.at(0).seconds;
  EXPECT_NEAR(link.median, 2e-2, 1e-12);
  EXPECT_EQ(link.processes, 3);
  EXPECT_NEAR(link.half_width, 4.30265 * 1e-2 / std::sqrt(3), 1e-7);
  EXPECT_EQ(answer.profile.machine.collectives.at(0).seconds.half_width, 0);
  // The fourth has nothing to give: what three found is no answer to a call for four.
  r.processes = 4;
  const MeasureAnswer failed = measure_machine(r, {});
  EXPECT_EQ(failed.exit_code, 5);
  EXPECT_TRUE(failed.failure);
}

TEST(MeasureProcesses, AreAsManyAsTimeAllows) {
  const auto count = [](const MeasureRequest& r, double each) {
    int done = 0;
    while (goes_on(r, done, each * done)) ++done;
    return done;
  };
  MeasureRequest r;
  r.quick = true;
  EXPECT_EQ(count(r, 1), kProcesses);
  EXPECT_EQ(count(r, 9), 5);  // 45 s
  EXPECT_EQ(count(r, 100), kLeastProcesses);
  r.quick = false;
  EXPECT_EQ(count(r, 30), kProcesses);
  EXPECT_EQ(count(r, 150), 4);
  // Ranks of a launcher do not share a clock.
  r.train.launched = LaunchedRank{};
  EXPECT_EQ(count(r, 1000), kProcesses);
  r.processes = 2;
  EXPECT_EQ(count(r, 1000), 2);
}

TEST_F(MeasureMachine, LinksBelowWhatWasRentedAreNamed) {
  setenv("FAKE_PROFILE", save("fake.json", measured_here()).c_str(), 1);
  MeasureRequest r = request();
  r.train.plan.cluster.cluster = "1xdgx-h100";
  const MeasureAnswer answer = measure_machine(r, {});
  ASSERT_EQ(answer.slow_links.size(), 1u);
  // Beside it may be that the machine is busy.
  EXPECT_THAT(answer.profile.notes, Contains(HasSubstr("slow link: ranks 0 and 1: 1.00 GB/s")));
}

TEST_F(MeasureMachine, WhatIsWrongIsSaidAtOnce) {
  MeasureRequest r = request();
  r.folder = "no-such-folder";
  r.parts = {"kernels", "lnks"};
  r.train.plan.degrees.tp = 4;
  r.processes = 1001;
  EXPECT_THAT(codes_of([&] { measure_machine(r, {}); }),
              ElementsAre("measure.part", "measure.folder", "measure.processes", "measure.ranks"));
  r = request();
  r.train.machine.device = "cuda";
  EXPECT_THAT(codes_of([&] { measure_machine(r, {}); }), Contains("train.no-gpu"));
  r = request();
  r.train.worker = "no-such-worker";
  EXPECT_THAT(codes_of([&] { measure_machine(r, {}); }), Contains("train.no-worker"));
}

TEST_F(MeasureMachine, AWorkerThatFailsIsNamed) {
  setenv("FAKE_PROFILE", "/no/such/file", 1);
  const MeasureAnswer answer = measure_machine(request(), {});
  EXPECT_EQ(answer.exit_code, 5);
  ASSERT_TRUE(answer.failure);
  EXPECT_THAT(answer.failure->message, HasSubstr("rank 0"));
}

// What was measured takes the place of what is assumed of this machine.
TEST_F(MeasureMachine, PredictionsTakeMeasuredCollectives) {
  const PredictAnswer assumed = predict(step_here(""));
  EXPECT_EQ(assumed.plan.basis.stack.name, "nereus");
  const std::string file = save("here.json", measured_here());
  const PredictAnswer measured = predict(step_here(file));
  // Two ranks reduce all gradients once: bytes / (1 GB/s), if nothing hides it.
  PredictRequest plain = step_here(file);
  plain.degrees.data_overlap = false;
  const double bytes = 4 * measured.plan.model.parameters();
  EXPECT_NEAR(predict(plain).prediction.part(cost::Part::kDataComm), bytes / 1e9,
              0.02 * bytes / 1e9);
  EXPECT_NE(measured.prediction.step, assumed.prediction.step);
}

TEST_F(MeasureMachine, ProfilesOfOtherMachinesAreRefusedUnlessForced) {
  profile::Profile other = measured_here();
  other.machine.context.device_name = "Another CPU";
  PredictRequest r = step_here(save("other.json", other));
  EXPECT_THAT(codes_of([&] { predict(r); }), ElementsAre("profile.other-device"));
  r.calibration.force_profile = true;
  EXPECT_GT(predict(r).prediction.step, 0);

  r = step_here(save("here.json", measured_here()));
  r.cluster.cluster = "1xdgx-h100";
  r.degrees.dp = 8;
  r.degrees.global_batch = 8;
  EXPECT_THAT(codes_of([&] { predict(r); }), ElementsAre("profile.no-device"));
  r.calibration.force_profile = true;
  EXPECT_GT(predict(r).prediction.step, 0);
}

TEST_F(MeasureMachine, TwoLibrariesAreNotMixed) {
  profile::Profile other = measured_here();
  other.machine.context.library = "libtorch 9.9";
  PredictRequest r = step_here(save("here.json", measured_here()));
  r.calibration.profiles.push_back(save("other.json", other));
  EXPECT_THAT(codes_of([&] { predict(r); }), ElementsAre("profile.other-library"));

  TrainRequest t;
  t.plan = step_here(save("other.json", other));
  t.plan.cluster = {};
  t.data = "synthetic";
  t.worker = testing::fake_worker();
  t.machine.comm.clear();
  EXPECT_THAT(codes_of([&] { train(t, {}); }), Contains("profile.other-library"));
  t.plan.calibration.force_profile = true;
  EXPECT_EQ(train(t, {}).exit_code, 0);
}

TEST_F(MeasureMachine, ComparesTwoFiles) {
  profile::Profile slower = measured_here();
  slower.machine.collectives[1].seconds = around(2e-2);
  const std::string a = save("a.json", measured_here()), b = save("b.json", slower);
  EXPECT_TRUE(compare_profiles(a, a).agree());
  const measure::Comparison c = compare_profiles(a, b);
  EXPECT_EQ(c.num_differing(), 1);
  EXPECT_EQ(c.numbers.size(), 3u);
  EXPECT_THAT(codes_of([&] {
                compare_profiles(a, source_dir() + "/tests/fuzz/seeds/fuzz_profile/own.json");
              }),
              ElementsAre("measure.no-machine"));
}

TEST(ThisMachine, AsACluster) {
  EXPECT_EQ(cluster::ranks_here("this-machine:3"), 3);
  EXPECT_EQ(cluster::ranks_here("this-machine"), cluster::usable_cores());
  EXPECT_EQ(cluster::ranks_here("16xdgx-h100"), std::nullopt);
  EXPECT_THAT(codes_of([] { cluster::ranks_here("this-machine:0"); }),
              ElementsAre("cluster.this-machine"));
  EXPECT_THAT(codes_of([] { cluster::ranks_here("this-machines"); }),
              ElementsAre("cluster.this-machine"));
}

}  // namespace
}  // namespace nereus::app::measure_machine_test
