// Starts ranks and supervises them until all have ended.
//
// The first failure ends the job: the supervisor waits a moment for messages of the other ranks
// (kSettle), judge() finds the cause, and the other ranks get SIGTERM and, after `grace_s`,
// SIGKILL. SIGINT to this process (Ctrl-C) is forwarded to all ranks, which end after their step.
// SIGTERM is forwarded too; the ranks then save a checkpoint before they end. A second signal of
// either kind kills them. No process outlives the call: each rank is a process group that is killed
// before the rank is reaped, and the kernel kills the ranks if this process is killed.
//
//   Watch watch;
//   watch.message = [&](const job::Message& m) { ... };
//   Outcome outcome = run_ranks(specs, {.timeout_s = 60}, watch);
//   if (outcome.failure) ...
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/message.hpp"
#include "launch/child.hpp"
#include "launch/judge.hpp"
#include "launch/rank_control.hpp"

namespace nereus::launch {

struct RankSpec {
  int rank = 0;
  ChildSpec child{};
};

struct Limits {
  double timeout_s = 60;         // without a message, after the first one
  double start_timeout_s = 120;  // until the first message: libraries and data files are loaded
  double grace_s = 3;            // between SIGTERM and SIGKILL
  bool hears_signals = true;     // signals to this process; off if another call handles them
};

// What signals to this process request: SIGINT kEnd, SIGTERM kSave, a second signal of either kind
// kKill.
enum class Asked { kNothing, kEnd, kSave, kKill };

struct Watch {
  std::function<void(const job::Message&)> message{};
  std::function<void(int rank, std::string_view line)> text{};  // a line of a rank's output
  std::function<void(Asked)> asked{};
  RankControl* control = nullptr;  // if other code also stops, continues or ends the ranks
};

struct Outcome {
  int exit_code = 0;  // 2, 4 or 5: a failure; else 10 if a rank has it, else 75, else 0
  std::optional<Failure> failure{};
  Asked asked = Asked::kNothing;
};

Outcome run_ranks(const std::vector<RankSpec>& specs, const Limits& limits, const Watch& watch);

}  // namespace nereus::launch
