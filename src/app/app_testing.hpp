// Shared by tests of calls that start workers: a script that replaces the worker, a test folder, a
// small training job and a checkpoint of it.
//
//   class Train : public testing::WithFakeWorker {};
//   TrainRequest r = testing::small_training();
//   testing::save_checkpoint(folder_ / "run", r, 3);
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/train/train.hpp"
#include "app/train/train_setup.hpp"
#include "base/build_info.hpp"
#include "base/temporary_folder.hpp"
#include "checkpoint/writer.hpp"
#include "tests/source_dir.hpp"

namespace nereus::app::testing {

inline std::string fake_worker() { return source_dir() + "/tests/fake_worker"; }

class WithFakeWorker : public ::testing::Test {
 protected:
  WithFakeWorker() {
    setenv("FAKE_BUILD", build_id().c_str(), 1);
    unsetenv("FAKE_FAULT");
    unsetenv("FAKE_SLEEP");
  }
  TemporaryFolder folder_;
};

inline TrainRequest small_training() {
  TrainRequest r;
  r.plan.model = {"gpt2", {{"layers", "4"}, {"hidden", "64"}, {"heads", "4"}, {"seq", "32"}}};
  r.plan.degrees.dp = 2;
  r.data = "synthetic";
  r.training.steps = 20;
  r.machine.comm.clear();
  r.worker = fake_worker();
  return r;
}

// A checkpoint as that training would have left it after `step` steps, except for its tensors:
// there is one with 16 numbers.
inline void save_checkpoint(const std::string& folder, const TrainRequest& training,
                            std::int64_t step) {
  const plan::Plan plan = set_up(training).job.plan;
  const std::vector<std::byte> bytes(64, std::byte{7});
  checkpoint::Part part;
  part.tensor = "w";
  part.shape = {16};
  part.end = 16;
  part.bytes = bytes;
  checkpoint::Progress progress;
  progress.step = step;
  progress.samples = step * plan.placement.global_batch;
  progress.optimizer = "adamw";
  checkpoint::Writer writer({.folder = folder, .keep = 9});
  writer.save(progress, plan, {part});
  writer.wait();
}

}  // namespace nereus::app::testing
