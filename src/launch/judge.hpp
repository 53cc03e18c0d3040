// Who is to blame when ranks fail. One rank's end makes the others fail too, within milliseconds,
// and what they say arrives in any order; so the launcher waits a moment and then looks at all of
// them together.
//
//   Ranks that blame nobody come first, by the time it began with them:
//     ended without a word    when its pipe closed, less kBias: nothing else explains it, while the
//                             others' errors follow from it
//     an error of its own     when it was said
//     no sign of life         when it was last heard, where that is timeout_s / 2 ago
//   An abort (SIGABRT) has no bias: libraries abort when a connection breaks.
//   Else everybody blames somebody: from the first who did, along the blame, to the rank that says
//   nothing.
//   An error that is the user's to mend goes before all: a wrong input is the cause, not a victim.
//
//   std::optional<Failure> failure = judge(states, now, timeout_s);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/message.hpp"

namespace nereus::launch {

// Times are seconds since the launch.
struct RankState {
  int rank = 0;
  double heard_at = 0;  // its last message, or its start
  bool greeted = false;
  bool done = false;     // it said so
  bool stopped = false;  // by a signal (SIGSTOP), and not continued
  std::optional<job::Message> error{};
  std::vector<job::Message> more_errors{};  // of the same input
  double error_at = 0;
  std::string bad_line{};  // that was no message
  bool ended = false;
  double ended_at = 0;
  int exit_code = 0;        // where it ended by itself
  int signal = 0;           // where it was killed
  std::string last_text{};  // of its errors
};

struct Failure {
  int rank = 0;
  std::string code;  // "train.rank-died", "train.rank-silent", or what the rank said
  std::string message;
  std::string hint;
  bool input_error = false;
  bool environment_error = false;
  std::vector<job::Message> more{};  // else that the rank found wrong
  bool operator==(const Failure&) const = default;
};

inline constexpr double kBias = 1.0;  // seconds

// Exit codes with which a rank that said it is done may end: 0, 10 (asked to end) and 75 (ended
// after a checkpoint).
bool ended_well(const RankState& state);
// Whether something is wrong with this rank, or it says so of another.
bool troubled(const RankState& state, double now, double timeout_s);

// Nothing where no rank is troubled.
std::optional<Failure> judge(const std::vector<RankState>& states, double now, double timeout_s);

}  // namespace nereus::launch
