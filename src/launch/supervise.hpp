// Starts ranks and supervises them until all have ended.
//
// The first failure ends the job: the supervisor waits a moment for messages of the other ranks
// (kSettle), judge() finds the cause, and the other ranks get SIGTERM and, after `grace_s`,
// SIGKILL. SIGINT to this process (Ctrl-C) is forwarded to all ranks, which end after their step;
// so is SIGTERM, after which they save a checkpoint first. A second signal of either kind kills
// them. No process outlives the call: each rank is a process group that is killed before the rank
// is reaped, and the kernel kills the ranks if this process is killed.
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
  double start_timeout_s = 120;  // until the first message: libraries are loaded, files are cold
  double grace_s = 3;            // between SIGTERM and SIGKILL
  bool hears_signals = true;     // signals to this process; off if another call handles them
};

// By SIGINT, by SIGTERM, by a second one of either.
enum class Asked { kNothing, kEnd, kSave, kKill };

struct Watch {
  std::function<void(const job::Message&)> message{};
  std::function<void(int rank, std::string_view line)> text{};  // a line of a rank's output
  std::function<void(Asked)> asked{};
  RankControl* control = nullptr;  // if others also stop, continue or end the ranks
};

struct Outcome {
  int exit_code = 0;  // the worst of the ranks': 0, 75, 10, 2, 5
  std::optional<Failure> failure{};
  Asked asked = Asked::kNothing;
};

Outcome run_ranks(const std::vector<RankSpec>& specs, const Limits& limits, const Watch& watch);

}  // namespace nereus::launch
