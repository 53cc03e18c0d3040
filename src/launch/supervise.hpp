// Starts ranks and watches over them until all have ended.
//
// The first failure ends the job: a moment is waited for what the other ranks say (kSettle),
// judge() names the cause, the rest get SIGTERM and, after `grace_s`, SIGKILL. SIGINT to this
// process (Ctrl-C) is handed on to all ranks, which end after their step; SIGTERM likewise, upon
// which they save a checkpoint. A second one of either kills them. Nothing outlives the call: each
// rank is a process group that is killed before the rank is reaped, and the kernel kills the ranks
// should this process be killed itself.
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
  double timeout_s = 60;         // without a message, once it has greeted
  double start_timeout_s = 120;  // until then: libraries are loaded, files are cold
  double grace_s = 3;            // between SIGTERM and SIGKILL
  bool hears_signals = true;     // of this process; off where another call hears them
};

enum class Asked { kNothing, kEnd, kSave, kKill };  // by SIGINT, by SIGTERM, by a second of either

struct Watch {
  std::function<void(const job::Message&)> message{};
  std::function<void(int rank, std::string_view line)> text{};  // a line of a rank's output
  std::function<void(Asked)> asked{};
  RankControl* control = nullptr;  // where somebody else stops, continues or ends them too
};

struct Outcome {
  int exit_code = 0;  // worst of the ranks': 0, 75, 10, 2, 5
  std::optional<Failure> failure{};
  Asked asked = Asked::kNothing;
};

Outcome run_ranks(const std::vector<RankSpec>& specs, const Limits& limits, const Watch& watch);

}  // namespace nereus::launch
