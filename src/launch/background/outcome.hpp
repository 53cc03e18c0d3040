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
  std::int64_t steps = 0;  // number done while the foreground ran
  double first_loss = 0;
  double last_loss = 0;
  double seconds = 0;  // while the foreground ran, from its start
  // Per step while the foreground ran; 0: too few steps to tell, also for the next.
  double step_s = 0;
  double alone_step_s = 0;  // per step after the foreground ended
  std::int64_t work = 0;    // tokens or samples per step
  double memory_bytes = 0;  // of all its ranks, the maximum seen
};

struct BackgroundOutcome {
  Slowdown slowdown{};
  double bound = 0;
  double mean_share = 0;  // share of the time from the first job's start to the foreground's end
  bool control_group = false;
  // Their processes have the lowest priority: busy CPUs leave them nothing.
  bool lowest_priority = false;
  std::int64_t num_pieces = 0;  // if jobs took turns
  std::int64_t num_late = 0;    // pieces that ended after the foreground wanted the device back
  // Number of foreground steps in which the waiting piece was longer than a step may grant; the
  // longest of those pieces; and the most that a step may grant.
  std::int64_t num_too_long = 0;
  double longest_s = 0, given_s = 0;
  std::int64_t steps_per_turn = 1;  // of the foreground
  double start_s = 0;  // longest time that one step granted to a new job; not counted in slow-downs
  std::int64_t num_rests = 0;  // rests because even short turns cost more than promised
  std::vector<BackgroundResult> jobs{};
};

}  // namespace nereus::launch
