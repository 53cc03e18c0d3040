#include "launch/judge.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

namespace nereus::launch {

namespace {

constexpr double kMissedBeats = 3;  // seconds; a beat comes every second

bool blames_other(const RankState& state) {
  return state.error && state.error->missing_rank >= 0 && state.error->missing_rank != state.rank;
}

bool silent(const RankState& state, double now, double limit) {
  return !state.ended && now - state.heard_at >= limit;
}

// When the failure of this rank began; empty if the rank is not a cause itself.
std::optional<double> onset(const RankState& state, double now, double timeout_s) {
  if (blames_other(state)) return std::nullopt;
  if (state.error) return state.error_at;
  if (state.ended && !ended_well(state))
    return state.signal == SIGABRT ? state.ended_at : state.ended_at - kBias;
  if (!state.bad_line.empty()) return state.heard_at;
  // Others time out a beat before it counts as silent by itself.
  if (silent(state, now, timeout_s / 2)) return state.heard_at;
  return std::nullopt;
}

std::string last_words(const RankState& state) {
  return state.last_text.empty() ? "" : fmt::format("; it last printed: {}", state.last_text);
}

Failure died(const RankState& state) {
  Failure failure{.rank = state.rank, .code = "train.rank-died", .message = {}, .hint = {}};
  if (state.signal != 0) {
    failure.message = fmt::format("was killed by signal {} ({}){}", state.signal,
                                  strsignal(state.signal), last_words(state));
    if (state.signal == SIGKILL)
      failure.hint = "the system kills processes when memory runs out (see dmesg)";
  } else if (state.exit_code == 127) {
    failure.message = "could not be started" + last_words(state);
  } else {
    failure.message =
        fmt::format("ended with exit code {} and no message{}", state.exit_code, last_words(state));
  }
  return failure;
}

Failure no_life(const RankState& state, double now, const RankState* waiting) {
  Failure failure{.rank = state.rank, .code = "train.rank-silent", .message = {}, .hint = {}};
  const double seconds = now - state.heard_at;
  if (state.stopped)
    failure.message = fmt::format("has been stopped by a signal for {:.3g} s", seconds);
  else if (state.done)
    failure.message = fmt::format("said it was done, but did not end within {:.3g} s", seconds);
  else if (seconds >= kMissedBeats)
    failure.message = fmt::format("has sent no heartbeat for {:.3g} s", seconds);
  else
    failure.message = "is alive, but does not take part";
  if (waiting != nullptr)
    failure.message +=
        fmt::format("; rank {} waited for it: {}", waiting->rank, waiting->error->message);
  return failure;
}

Failure said(const RankState& state) {
  const job::Message& error = *state.error;
  return {state.rank,        error.code.empty() ? "train.rank-failed" : error.code,
          error.message,     error.hint,
          error.input_error, error.environment_error,
          state.more_errors};
}

Failure describe(const RankState& state, double now) {
  if (state.error) return said(state);
  if (state.ended) return died(state);
  if (!state.bad_line.empty())
    return {state.rank, "train.no-message",
            fmt::format("sent a line that is not a message: {}", state.bad_line),
            "is it a nereus-worker of this build?"};
  return no_life(state, now, nullptr);
}

const RankState* find(const std::vector<RankState>& states, int rank) {
  const auto at = std::find_if(states.begin(), states.end(),
                               [&](const RankState& state) { return state.rank == rank; });
  return at == states.end() ? nullptr : &*at;
}

// Follows the blame from the first rank that blames another, to one that this launcher cannot query
// further.
Failure follow_blame(const std::vector<RankState>& states, double now) {
  const RankState* waiting = nullptr;
  for (const RankState& state : states)
    if (blames_other(state) && (waiting == nullptr || state.error_at < waiting->error_at))
      waiting = &state;
  for (std::size_t hops = 0; hops < states.size(); ++hops) {
    const RankState* next = find(states, waiting->error->missing_rank);
    if (next == nullptr) return said(*waiting);  // on another machine: what we know is who waited
    if (!blames_other(*next)) return no_life(*next, now, waiting);
    waiting = next;
  }
  return said(*waiting);  // round in a circle
}

}  // namespace

bool ended_well(const RankState& state) {
  return state.ended && state.done && state.signal == 0 &&
         (state.exit_code == 0 || state.exit_code == 10 || state.exit_code == 75);
}

bool troubled(const RankState& state, double now, double timeout_s) {
  return state.error.has_value() || !state.bad_line.empty() ||
         (state.ended && !ended_well(state)) || silent(state, now, timeout_s);
}

std::optional<Failure> judge(const std::vector<RankState>& states, double now, double timeout_s) {
  const RankState* first = nullptr;
  for (const RankState& state : states)
    if (state.error && state.error->input_error &&
        (first == nullptr || state.error_at < first->error_at))
      first = &state;
  if (first != nullptr) return said(*first);
  double began = 0;
  for (const RankState& state : states) {
    const std::optional<double> at = onset(state, now, timeout_s);
    if (!at || (first != nullptr && *at >= began)) continue;
    first = &state;
    began = *at;
  }
  if (first != nullptr) return describe(*first, now);
  if (std::any_of(states.begin(), states.end(), blames_other)) return follow_blame(states, now);
  return std::nullopt;
}

}  // namespace nereus::launch
