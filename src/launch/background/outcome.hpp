// Results of background jobs that ran while a foreground job ran, and how much they slowed it
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
  std::string why{};       // why it failed
  std::int64_t steps = 0;  // steps done while the foreground ran
  double first_loss = 0;
  double last_loss = 0;
  double seconds = 0;  // while the foreground ran, from its start
  // Seconds per step while the foreground ran. Here and in `alone_step_s`, 0: too few steps to
  // tell.
  double step_s = 0;
  double alone_step_s = 0;  // seconds per step after the foreground ended
  std::int64_t work = 0;    // tokens or samples per step
  double memory_bytes = 0;  // of all its ranks, the maximum seen
};

struct BackgroundOutcome {
  Slowdown slowdown{};
  double bound = 0;
  double mean_share = 0;  // background's share of the time, first job's start to foreground's end
  bool control_group = false;
  // The jobs' processes have the lowest priority, so busy CPUs leave them no time.
  bool lowest_priority = false;
  std::int64_t num_pieces = 0;  // if jobs took turns
  std::int64_t num_late = 0;    // pieces that ended after the foreground wanted the device back
  // Number of foreground steps in which the waiting piece was longer than a step may grant; the
  // longest of those pieces; and the most that a step may grant.
  std::int64_t num_too_long = 0;
  double longest_s = 0, given_s = 0;
  std::int64_t steps_per_turn = 1;  // of the foreground
  double start_s = 0;  // longest time that one step granted to a new job; not counted in slow-downs
  std::int64_t num_rests = 0;  // rests of the background, because even short turns cost too much
  std::vector<BackgroundResult> jobs{};
};

}  // namespace nereus::launch
