// What background jobs did beside a foreground job, and what they cost it
// (launch/background/runner.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/background/pace.hpp"

namespace nereus::launch {

enum class BackgroundEnd { kNotBegun, kDone, kWithForeground, kFailed, kOverQuota };

struct BackgroundResult {
  std::string name;
  BackgroundEnd end = BackgroundEnd::kNotBegun;
  std::string why{};       // it failed
  std::int64_t steps = 0;  // done beside the foreground
  double first_loss = 0;
  double last_loss = 0;
  double seconds = 0;       // beside the foreground, from its start
  double step_s = 0;        // beside the foreground; 0: too few steps to say. So the next
  double alone_step_s = 0;  // after it
  std::int64_t work = 0;    // tokens or samples of a step
  double memory_bytes = 0;  // of its ranks together, the most that was seen
};

struct BackgroundOutcome {
  Slowdown slowdown{};
  double bound = 0;
  double mean_share = 0;  // of the time from the first job's start to the foreground's end
  bool control_group = false;
  bool lowest_priority = false;  // of their processes: busy CPUs leave them nothing
  std::int64_t num_pieces = 0;   // where they took turns
  std::int64_t num_late = 0;     // of them, done after the foreground wanted the device back
  // The foreground's steps in which the piece that waited was longer than a step may give; the
  // longest of those pieces, and what a step gives at most.
  std::int64_t num_too_long = 0;
  double longest_s = 0, given_s = 0;
  std::int64_t steps_per_turn = 1;  // of the foreground
  double start_s = 0;  // what one step gave a new job, which counts in no slow-down; the longest
  std::int64_t num_rests = 0;  // since even short turns cost more than promised
  std::vector<BackgroundResult> jobs{};
};

}  // namespace nereus::launch
