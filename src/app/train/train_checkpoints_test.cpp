// What a training does about checkpoints that are there already, and about outputs that cannot be
// written: said before anything starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/app_testing.hpp"
#include "app/train/train.hpp"
#include "base/base_testing.hpp"
#include "checkpoint/folder_lock.hpp"

namespace nereus::app::train_checkpoints_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::save_checkpoint;
using ::testing::UnorderedElementsAre;

class TrainCheckpoints : public testing::WithFakeWorker {
 protected:
  static TrainRequest request() {
    TrainRequest r = testing::small_training();
    r.plan.degrees.global_batch = 8;
    return r;
  }

  static std::vector<std::string> said_by(const TrainRequest& r) {
    std::vector<std::string> lines;
    TrainWatch watch;
    watch.say = [&](const std::string& line) { lines.push_back(line); };
    EXPECT_EQ(train(r, watch).exit_code, 0);
    return lines;
  }
};

TEST_F(TrainCheckpoints, AFreshRunDoesNotGetAmongThoseOfAnother) {
  TrainRequest r = request();
  r.checkpoint.folder = folder_ / "run";
  EXPECT_THAT(said_by(r), IsEmpty());  // there are none yet
  save_checkpoint(r.checkpoint.folder, request(), 3);
  save_checkpoint(r.checkpoint.folder, request(), 6);
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.other-run"));
  save_checkpoint(folder_ / "other", request(), 3);
  r.checkpoint.resume = folder_ / "other";
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.other-run"));
  // Going on with it is no other run; from an earlier step the later ones are told of.
  r.checkpoint.resume = r.checkpoint.folder + "/";
  EXPECT_THAT(said_by(r), IsEmpty());
  r.checkpoint.resume = r.checkpoint.folder + "/step-000003";
  EXPECT_THAT(said_by(r), ElementsAre(HasSubstr("later steps, up to 6")));
  r.checkpoint.folder = folder_ / "new";
  EXPECT_THAT(said_by(r), IsEmpty());
}

TEST_F(TrainCheckpoints, OneJobAFolder) {
  TrainRequest r = request();
  r.checkpoint.folder = folder_ / "run";
  const checkpoint::FolderLock other(r.checkpoint.folder);
  EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("checkpoint.running"));
}

TEST_F(TrainCheckpoints, OtherOptionsThanThoseOfTheCheckpointAreNoted) {
  save_checkpoint(folder_ / "run", request(), 3);
  TrainRequest r = request();
  r.checkpoint.resume = folder_ / "run";
  EXPECT_THAT(said_by(r), IsEmpty());
  r.training.seed = 5;
  EXPECT_THAT(said_by(r), ElementsAre(HasSubstr("--seed 0, but this run continues with 5")));
  r.plan.degrees.global_batch = 16;
  EXPECT_THAT(said_by(r), ElementsAre(HasSubstr("--seed"), HasSubstr("--global-batch 8")));
}

TEST_F(TrainCheckpoints, AnotherPrecisionKeepsOtherTensors) {
  save_checkpoint(folder_ / "run", request(), 3);
  TrainRequest r = request();
  r.checkpoint.resume = folder_ / "run";
  for (const auto other : {cluster::Precision::kBf16, cluster::Precision::kFp64}) {
    r.plan.degrees.precision = other;
    EXPECT_THAT(codes_of([&] { train(r, {}); }), ElementsAre("train.other-precision"));
  }
  r.plan.degrees.precision = cluster::Precision::kFp32;
  EXPECT_THAT(said_by(r), IsEmpty());
}

TEST_F(TrainCheckpoints, OutputsThatCannotBeWrittenAreAllSaidFirst) {
  TrainRequest r = request();
  r.metrics_file = folder_ / "none/m.jsonl";
  r.tensorboard = "/proc/events";
  r.checkpoint.folder = "/proc/run";
  r.output_files = {folder_ / "none/x.json", "", folder_.path()};
  r.timeline_file = folder_ / "none/t.json";
  EXPECT_THAT(codes_of([&] { train(r, {}); }),
              UnorderedElementsAre("train.metrics", "train.tensorboard", "train.checkpoint-folder",
                                   "output.path", "output.path", "train.timeline"));
}

TEST_F(TrainCheckpoints, MoreThanTheMachineTakesIsRefused) {
  TrainRequest r = request();
  r.machine.threads = 1'000'000;
  r.loading.workers = 1'000'000;
  EXPECT_THAT(codes_of([&] { train(r, {}); }),
              ElementsAre("train.too-many-threads", "train.too-many-threads"));
}

}  // namespace
}  // namespace nereus::app::train_checkpoints_test
