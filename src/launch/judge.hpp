// Decides which rank is to blame when ranks fail. The end of one rank makes the others fail within
// milliseconds, and their messages arrive in any order. So the launcher waits a moment, and then
// looks at all of them together.
//
//   Ranks that blame no other rank come first, ordered by the time of their failure:
//     ended without a message   when its pipe closed, minus kBias: nothing else explains such an
//                               end, and the errors of the other ranks follow from it
//     an error of its own       when it was sent
//     no sign of life           when it was last heard, if that is at least timeout_s / 2 ago
//   An abort (SIGABRT) has no bias, because libraries abort when a connection breaks.
//   If only ranks that blame others have a problem: the chain of blame is followed, from the rank
//   that reported first to the rank that blames no other.
//   An error that the user can fix comes before all others: a wrong input is a cause, not a
//   consequence.
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
  double heard_at = 0;  // time of its last message, or of its start
  bool greeted = false;
  bool done = false;     // it reported that it is done
  bool stopped = false;  // by a signal (SIGSTOP), and not continued
  std::optional<job::Message> error{};
  std::vector<job::Message> more_errors{};  // about the same input
  double error_at = 0;
  std::string bad_line{};  // a line that is not a message
  bool ended = false;
  double ended_at = 0;
  int exit_code = 0;        // if it ended by itself
  int signal = 0;           // if it was killed
  std::string last_text{};  // the last line of its output
};

struct Failure {
  int rank = 0;
  std::string code;  // "train.rank-died", "train.rank-silent", or the rank's code
  std::string message;
  std::string hint;
  bool input_error = false;
  bool environment_error = false;
  std::vector<job::Message> more{};  // other errors that the rank reported
  bool operator==(const Failure&) const = default;
};

inline constexpr double kBias = 1.0;  // seconds

// Whether the rank reported that it is done, and its exit code is 0, 10 (asked to end) or 75 (ended
// after a checkpoint).
bool ended_well(const RankState& state);
// Whether this rank has a problem, or reports one of another rank.
bool troubled(const RankState& state, double now, double timeout_s);

// Empty if no rank has a problem.
std::optional<Failure> judge(const std::vector<RankState>& states, double now, double timeout_s);

}  // namespace nereus::launch
