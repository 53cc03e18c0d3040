#include "app/train/train.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/app_testing.hpp"
#include "app/train/train_setup.hpp"
#include "app/train/train_steps.hpp"
#include "base/base_testing.hpp"
#include "cluster/this_machine.hpp"
#include "plan/plan_json.hpp"
#include "timeline/check_trace.hpp"

namespace nereus::app::train_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class Train : public testing::WithFakeWorker {
 protected:
  std::string path(const char* name) const { return folder_ / name; }

  // pp 2 x dp 2 of a small model, on the fake worker.
  static TrainRequest request(int steps) {
    TrainRequest r = testing::small_training();
    r.plan.degrees.pp = 2;
    r.training.steps = steps;
    r.machine.timeout_s = 3;
    return r;
  }
};

TEST_F(Train, StepsOfAllRanksBecomeOne) {
  TrainRequest r = request(5);
  r.metrics_file = path("m.jsonl");
  r.tensorboard = path("tb");
  std::vector<TrainStep> seen;
  TrainWatch watch;
  watch.step = [&](const TrainStep& step) { seen.push_back(step); };
  const TrainAnswer answer = train(r, watch);
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_EQ(answer.failure, std::nullopt);
  ASSERT_EQ(answer.steps.size(), 5u);
  EXPECT_EQ(seen, answer.steps);
  EXPECT_EQ(answer.num_ranks, 4);
  EXPECT_EQ(answer.library, "fake 1.0");
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(answer.steps[i].step, static_cast<std::int64_t>(i));
    EXPECT_DOUBLE_EQ(answer.steps[i].loss, 4 - 0.1 * static_cast<double>(i));
    EXPECT_DOUBLE_EQ(answer.steps[i].seconds, 0.04);                        // rank 3
    EXPECT_DOUBLE_EQ(answer.steps[i].memory_bytes, 4 * 1048576);            // rank 3
    EXPECT_DOUBLE_EQ(answer.steps[i].waits.reduce, (2 + 4 + 6 + 8) / 4e3);  // mean
  }
  EXPECT_DOUBLE_EQ(answer.step_s, 0.04);
  EXPECT_DOUBLE_EQ(answer.rate, 1000 / 0.04);
  EXPECT_TRUE(answer.nominal);
  ASSERT_TRUE(answer.predicted);

  std::ifstream metrics(r.metrics_file);
  int lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines)
    EXPECT_EQ(nlohmann::json::parse(line).at("step"), lines);
  EXPECT_EQ(lines, 5);
  EXPECT_FALSE(std::filesystem::is_empty(r.tensorboard));
}

TEST_F(Train, PartsOfTheStepSumToIt) {
  const TrainAnswer answer = train(request(4), {});
  const std::vector<ComparedPart> parts = compare(answer);
  ASSERT_GE(parts.size(), 3u);
  double predicted = 0, measured = 0;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    predicted += parts[i].predicted;
    measured += parts[i].measured;
  }
  EXPECT_EQ(parts.back().name, "step");
  EXPECT_NEAR(predicted, parts.back().predicted, 1e-9 * predicted);
  EXPECT_NEAR(measured, parts.back().measured, 1e-9);
}

TEST_F(Train, ALossThatDivergedIsKept) {
  setenv("FAKE_FAULT", "0 1 nan", 1);
  const TrainAnswer answer = train(request(3), {});
  ASSERT_EQ(answer.steps.size(), 3u);
  EXPECT_TRUE(std::isnan(answer.steps[1].loss));
  EXPECT_THAT(metrics_line(answer.steps[1], true), HasSubstr("\"loss\":null"));
}

struct Fault {
  const char* what;
  int exit_code;
  const char* code;
  const char* words;
};

TEST_F(Train, EveryFaultNamesItsRankAndKeepsTheStepsBefore) {
  for (const Fault& fault : {Fault{"kill", 5, "train.rank-died", "signal 9"},
                             Fault{"stop", 5, "train.rank-silent", "stopped"},
                             Fault{"exit", 5, "train.rank-died", "about to end"},
                             Fault{"error", 5, "worker.memory", "no memory for layer 3"},
                             Fault{"input", 2, "checkpoint.corrupt", "step-7 is damaged"},
                             Fault{"nonsense", 5, "train.no-message", "Segmentation fault"},
                             Fault{"behind", 5, "train.rank-silent", "all-reduce 12"}}) {
    setenv("FAKE_FAULT", (std::string("2 1 ") + fault.what).c_str(), 1);
    TrainRequest r = request(1000);
    r.machine.timeout_s = 1.5;
    const TrainAnswer answer = train(r, {});
    EXPECT_EQ(answer.exit_code, fault.exit_code) << fault.what;
    ASSERT_TRUE(answer.failure) << fault.what;
    EXPECT_EQ(answer.failure->code, fault.code) << fault.what;
    EXPECT_THAT(answer.failure->message, HasSubstr("rank 2 (on "));
    EXPECT_THAT(answer.failure->message, HasSubstr(fault.words));
    EXPECT_GE(answer.steps.size(), 1u) << fault.what;
    EXPECT_EQ(answer.events.back().kind, "failure");
    EXPECT_EQ(answer.events.back().rank, 2);
  }
}

TEST_F(Train, TerminationEndsWithACheckpoint) {
  TrainRequest r = request(100000);
  r.checkpoint.folder = path("run");
  TrainWatch watch;
  int seen = 0;
  watch.step = [&](const TrainStep&) {
    if (++seen == 3) kill(getpid(), SIGTERM);
  };
  std::string said;  // what went wrong in a rank, if anything did
  watch.text = [&](int rank, std::string_view line) {
    said += std::to_string(rank) + ": " + std::string(line) + "\n";
  };
  const TrainAnswer answer = train(r, watch);
  SCOPED_TRACE(said);
  EXPECT_EQ(answer.exit_code, 75);
  EXPECT_GE(answer.steps.size(), 3u);
  std::vector<std::string> kinds;
  for (const TrainEvent& event : answer.events) kinds.push_back(event.kind);
  EXPECT_THAT(kinds, UnorderedElementsAre("preempted", "checkpoint"));
}

TEST_F(Train, TimelinesOfAllRanksAreOneTrace) {
  TrainRequest r = request(2);
  r.timeline_file = path("t.json");
  EXPECT_EQ(train(r, {}).exit_code, 0);
  const timeline::TraceCheck check = timeline::check_trace_file(r.timeline_file);
  EXPECT_TRUE(check.faults.empty());
  EXPECT_EQ(check.num_processes, 4);
  EXPECT_EQ(check.num_slices, 4);
}

TEST_F(Train, OneRankOfALaunchedJobRunsAlone) {
  TrainRequest r = request(2);
  r.launched = LaunchedRank{3, 4, 1, "10.0.0.1", 29500, "torchrun"};
  const TrainAnswer answer = train(r, {});
  EXPECT_FALSE(answer.speaks);
  ASSERT_EQ(answer.steps.size(), 2u);
  EXPECT_DOUBLE_EQ(answer.steps[0].seconds, 0.04);
}

TEST_F(Train, AllThatIsWrongIsSaidBeforeAnythingStarts) {
  TrainRequest r = request(2);
  r.data = path("nothing.bin");
  r.checkpoint.resume = path("nowhere");
  r.launched = LaunchedRank{0, 3, 0, "127.0.0.1", 29500, "mpirun"};
  setenv("FAKE_BUILD", "0.1.0 another", 1);
  EXPECT_THAT(codes_of([&] { train(r, {}); }),
              UnorderedElementsAre("spec.no-file", "train.no-checkpoint", "train.world-size",
                                   "train.worker-build"));
  r = request(2);
  r.worker = path("no-worker");
  r.data = "";
  r.plan.degrees.pp = 3;  // four blocks
  r.plan.degrees.tp = 3;  // four heads
  EXPECT_THAT(codes_of([&] { train(r, {}); }), Contains("train.no-worker"));
  EXPECT_THAT(codes_of([&] { train(r, {}); }), Contains("train.no-data"));
  EXPECT_THAT(codes_of([&] { train(r, {}); }), Contains("plan.heads"));
}

TEST_F(Train, DevicesAndBackendsThatAreNotThere) {
  TrainRequest r = request(2);
  r.machine.device = "cuda";
  EXPECT_THAT(codes_of([&] { train(r, {}); }), Contains("train.no-gpu"));
  r = request(2);
  r.machine.comm = "nccl";
  EXPECT_THAT(codes_of([&] { train(r, {}); }), Each("train.no-backend"));
  r = request(2);
  r.worker = "/bin/true";
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.worker-broken"));
}

TEST_F(Train, APlanForAnotherModelIsRefused) {
  TrainRequest r = request(2);
  const TrainSetup setup = set_up(r);
  EXPECT_EQ(setup.job.plan.placement.precision, cluster::Precision::kFp32);
  plan::save_plan(path("p.plan"), setup.job.plan);
  TrainRequest from_file = request(2);
  from_file.plan = {};
  from_file.plan.plan_file = path("p.plan");
  EXPECT_EQ(train(from_file, {}).steps.size(), 2u);
  from_file.plan.model = r.plan.model;
  EXPECT_EQ(train(from_file, {}).steps.size(), 2u);
  from_file.plan.model = {"gpt2", {}};
  EXPECT_THAT(codes_of([&] { train(from_file, {}); }), ElementsAre("train.other-model"));
}

TEST_F(Train, DataMustSuitTheModel) {
  TrainRequest r = request(2);
  r.data = folder_.path();
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.data-kind"));
  // nanoGPT's form: 16-bit tokens as they are.
  const auto write = [&](std::size_t count, std::uint16_t token) {
    std::ofstream file(path("text.bin"), std::ios::binary);
    for (std::size_t i = 0; i < count; ++i)
      file.write(reinterpret_cast<const char*>(&token), sizeof token);
  };
  r.data = path("text.bin");
  write(100, 7);
  EXPECT_EQ(set_up(r).job.data.kind, job::Data::Kind::kTokens);
  write(100, 60000);  // the model knows 50,257
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("data.vocabulary"));
  write(20, 7);  // a sample has 33
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("data.too-short"));
  r.plan.model = {"resnet50", {}};
  r.plan.degrees = {};
  EXPECT_THAT(codes_of([&] { train(r, {}); }), Contains("train.data-kind"));
}

TEST_F(Train, CheckpointFolders) {
  TrainRequest r = request(2);
  r.checkpoint.resume = folder_.path();
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.no-checkpoint"));
  // Half of one does not count.
  folder_.write("step-3.partial/manifest.json", "{}");
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.no-checkpoint"));
  r = request(2);
  r.checkpoint.every = 5;
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.checkpoint-folder"));
}

TEST_F(Train, CheckpointsAreReadThroughBeforeAnythingStarts) {
  TrainRequest r = request(20);
  testing::save_checkpoint(path("run"), r, 10);
  r.checkpoint.resume = path("run");
  EXPECT_EQ(train(r, {}).exit_code, 0);
  r.training.steps = 10;
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.nothing-to-do"));
  r.training.steps = 20;
  r.training.optimizer = job::OptimizerKind::kSgd;
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.other-optimizer"));
  r.training.optimizer = job::OptimizerKind::kAdamW;
  r.plan.model.overrides[0].value = "2";
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.other-model"));
  r.plan.model.overrides[0].value = "4";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path("run"))) {
    if (entry.path().extension() != ".safetensors") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('x');
  }
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("checkpoint.checksum"));
}

TEST(TrainSteps, TheFirstStepIsNotMeasuredWhereThereAreMore) {
  const auto steps = [](std::vector<double> seconds) {
    std::vector<TrainStep> list;
    for (const double s : seconds) list.push_back({.seconds = s, .waits = {.data = s / 2}});
    return list;
  };
  EXPECT_EQ(median_step(steps({})), 0);
  EXPECT_EQ(median_step(steps({9, 1})), 5);
  EXPECT_EQ(median_step(steps({9, 1, 2})), 1.5);
  EXPECT_EQ(median_step(steps({9, 1, 2, 7})), 2);
  EXPECT_EQ(mean_waits(steps({9, 1, 3})).data, 1);
}

TEST(TrainSteps, StepsComeInOrderHoweverMessagesDo) {
  StepCollector collector({0, 1});
  const auto message = [](int rank, int step) {
    job::Message m{.kind = job::MessageKind::kStep, .rank = rank};
    m.step = step;
    m.loss = rank == 0 ? step : -1;
    return m;
  };
  EXPECT_TRUE(collector.take(message(1, 0)).empty());
  EXPECT_TRUE(collector.take(message(1, 1)).empty());
  ASSERT_EQ(collector.take(message(0, 0)).size(), 1u);
  const auto second = collector.take(message(0, 1));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].loss, 1);
  EXPECT_TRUE(collector.take(message(0, 2)).empty());
  EXPECT_TRUE(collector.take(message(1, 3)).empty());
  EXPECT_EQ(collector.rest().size(), 1u);  // 2, which rank 0 has done
}

TEST(TrainSetup, RanksOfAPlacement) {
  plan::Placement placement;
  plan::LayerRun run;
  run.replicas.push_back({.count = 3, .first = 1, .team_stride = 4, .tp = 2});
  placement.runs.push_back(run);
  EXPECT_EQ(ranks_of(placement), 11);  // 1 + 2 x 4 + 1
  plan::StateShare share;
  share.ranks = {{2, 3, 10}};
  placement.runs[0].state.push_back(share);
  EXPECT_EQ(ranks_of(placement), 23);
}

TEST(ThisMachine, IsAClusterOfItsRanks) {
  const cluster::Cluster c = cluster::this_machine(4, "cpu");
  EXPECT_EQ(c.num_devices(), 4);
  EXPECT_TRUE(cluster::is_nominal(c));
  EXPECT_TRUE(c.groups[0].node.device.has(cluster::Precision::kFp64));
  EXPECT_LT(c.groups[0].node.device.memory.value * 4,
            1.01 * static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                static_cast<double>(sysconf(_SC_PAGESIZE)));
}

}  // namespace
}  // namespace nereus::app::train_test
