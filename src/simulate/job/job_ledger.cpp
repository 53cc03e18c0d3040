#include "simulate/job/job_ledger.hpp"

#include <algorithm>

namespace nereus::simulate {

void Ledger::add(double seconds, Activity activity) {
  if (seconds <= 0) return;
  play_.spent[static_cast<int>(activity)] += seconds;
  const double start = recorded_;
  recorded_ += seconds;
  // Does not merge across a checkpoint: what comes after it may be lost.
  const std::size_t fixed = std::max(safe_segments_, taken_segments_);
  if (play_.segments.size() > fixed && play_.segments.back().activity == activity)
    play_.segments.back().end = recorded_;
  else
    play_.segments.push_back({start, recorded_, activity});
}

void Ledger::add_steps(double many, double seconds) {
  add(seconds, Activity::kUseful);
  play_.steps += many;
  unsafe_steps_ += many;
  steps_since_ += many;
  seconds_since_ += seconds;
}

void Ledger::save_as_of(double steps, std::size_t segments) {
  unsafe_steps_ = play_.steps - steps;
  safe_segments_ = segments;
  written_ = std::numeric_limits<double>::infinity();
}

void Ledger::keep_if_written(double now) {
  if (now >= written_) save_as_of(taken_steps_, taken_segments_);
}

void Ledger::checkpoint(double now, double write) {
  keep_if_written(now);
  ++play_.checkpoints;
  begin_interval();
  if (write <= 0) return save_as_of(play_.steps, play_.segments.size());
  written_ = now + write;
  taken_steps_ = play_.steps;
  taken_segments_ = play_.segments.size();
}

void Ledger::lose_unwritten(double now) {
  keep_if_written(now);
  written_ = std::numeric_limits<double>::infinity();
}

void Ledger::roll_back(double now) {
  lose_unwritten(now);
  if (unsafe_steps_ > 0) ++play_.rollbacks;
  for (std::size_t i = safe_segments_; i < play_.segments.size(); ++i) {
    JobSegment& own = play_.segments[i];
    if (own.activity != Activity::kUseful) continue;
    own.activity = Activity::kLost;
    play_.spent[static_cast<int>(Activity::kUseful)] -= own.end - own.start;
    play_.spent[static_cast<int>(Activity::kLost)] += own.end - own.start;
  }
  play_.steps -= unsafe_steps_;
  save_as_of(play_.steps, play_.segments.size());
  begin_interval();
}

}  // namespace nereus::simulate
