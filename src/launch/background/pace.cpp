#include "launch/background/pace.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nereus::launch {

namespace {

constexpr double kSmallestShare = 0.001;
constexpr double kAim = 0.6, kLow = 0.35, kHigh = 0.8;  // of the bound
constexpr double kMostUp = 2, kMostDown = 0.1;          // factors of one decision on the share
// The same for turns, of which more is known.
constexpr double kAimOfTurns = 0.8, kLowOfTurns = 0.65, kHighOfTurns = 0.9;
constexpr double kSmallestOfTurns = 0.25;
constexpr double kGain = 0.5;  // of the way to the model's solution
constexpr int kMostOver = 4;   // decisions in a row, at the smallest share
constexpr int kRest = 16'384;  // steps
constexpr double kTail = 0.95;
constexpr std::size_t kTailAlone = 256, kTailShared = 128;  // steps
constexpr int kRowOver = 2;
constexpr std::size_t kRemembered = 16;  // steps without background
// If the background ran for less than this share of a step, the step counts as without background.
constexpr double kNothing = 1e-4;

void remember(std::deque<double>& last, double value, std::size_t most) {
  last.push_back(value);
  if (last.size() > most) last.pop_front();
}

double quantile_of(const std::deque<double>& values, double q) {
  return quantile({values.begin(), values.end()}, q);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - std::floor(at)) * (values[above] - values[below]);
}

PaceOptions pace_of_turns(double bound) {
  return {.bound = bound,
          .first_share = 0.35,
          .alone_steps = 16,
          .window = 32,
          .probe_every = 256,
          .probe_steps = 8,
          .by_turns = true};
}

void Pace::step(double seconds, double ran, bool present) {
  if (warmup_left_ > 0) {
    --warmup_left_;
    return;
  }
  if (rest_left_ > 0) {
    // Beside a background that waits: what is promised is promised for these steps too.
    if (present) all_shared_.push_back(seconds / alone_);
    if (ran < kNothing) refresh_alone(seconds);
    if (--rest_left_ == 0) probe(options_.probe_steps);
    return;
  }
  if (alone_left_ > 0) {
    // The step in which the background was stopped counts neither as with nor as without
    // background.
    if (ran < kNothing) measure_alone(seconds);
    return;
  }
  ++since_probe_;
  if (ran < kNothing && !present) {
    // There is no background now, or it may not run: the measured step is one without background.
    measure_alone(seconds);
  } else {
    const double slowdown = seconds / alone_ - 1;
    all_shared_.push_back(seconds / alone_);
    window_.push_back(slowdown);
    remember(tail_shared_, slowdown, kTailShared);
    over_in_a_row_ = slowdown > options_.bound ? over_in_a_row_ + 1 : 0;
    const bool at_once = over_in_a_row_ >= kRowOver && !options_.by_turns;
    if (static_cast<int>(window_.size()) >= options_.window || at_once) decide();
  }
  if (since_probe_ >= options_.probe_every) probe(options_.probe_steps);
}

void Pace::refresh_alone(double seconds) {
  remember(recent_alone_, seconds, kRemembered);
  alone_ = quantile_of(recent_alone_, 0.5);
}

void Pace::measure_alone(double seconds) {
  refresh_alone(seconds);
  remember(tail_alone_, seconds / alone_ - 1, kTailAlone);
  alone_seconds_.push_back(seconds);
  all_alone_.push_back(seconds / alone_);
  if (alone_left_ == 0 || --alone_left_ > 0) return;
  if (share_ == 0)
    share_ = since_probe_ == 0 && all_shared_.empty() ? options_.first_share : kSmallestShare;
}

void Pace::probe(int steps) {
  alone_left_ = steps;
  since_probe_ = 0;
  window_.clear();
  over_in_a_row_ = 0;
  last_slowdown_ = 0;
  // Old measurements may no longer apply to the machine.
  while (recent_alone_.size() > static_cast<std::size_t>(steps)) recent_alone_.pop_front();
}

double Pace::decisive_slowdown() const {
  const double median = quantile(window_, 0.5);
  if (!options_.by_turns) return median;
  return std::max(
      median, (1 + quantile_of(tail_shared_, kTail)) / (1 + quantile_of(tail_alone_, kTail)) - 1);
}

void Pace::set_share(double share) {
  if (share != share_) tail_shared_.clear();
  share_ = share;
}

// Less background and no improvement: the cause is something else, and `alone` is outdated.
bool Pace::did_not_help(double slowdown) {
  if (last_slowdown_ > 0 && slowdown > 0.8 * last_slowdown_) {
    probe(options_.probe_steps);
    return true;
  }
  last_slowdown_ = slowdown > options_.bound ? slowdown : 0;
  return false;
}

void Pace::decide() {
  const double slowdown = decisive_slowdown(), aim = kAim * options_.bound;
  usual_slowdown_ = std::max(0.0, quantile(window_, 0.5));
  window_.clear();
  over_in_a_row_ = 0;
  if (options_.by_turns) return decide_turns(slowdown);
  if (slowdown > kHigh * options_.bound) {
    if (did_not_help(slowdown)) return;
    const double share = share_ * std::max(kMostDown, aim / slowdown);
    set_share(share < kSmallestShare ? 0 : share);
    return;
  }
  last_slowdown_ = 0;
  if (slowdown < kLow * options_.bound)
    set_share(std::min(1.0, share_ * aim / std::max(slowdown, aim / kMostUp)));
}

void Pace::decide_turns(double slowdown) {
  const double of_bound = slowdown / options_.bound;
  const double share = share_ + kGain * (kAimOfTurns - of_bound) / options_.given;
  if (of_bound <= kHighOfTurns) {
    last_slowdown_ = 0;
    over_at_smallest_ = 0;
    if (of_bound < kLowOfTurns) set_share(std::min(1.0, share));
  } else if (share_ > kSmallestOfTurns) {
    if (!did_not_help(slowdown)) set_share(std::max(kSmallestOfTurns, share));
  } else {
    over_at_smallest_ = of_bound > 1 ? over_at_smallest_ + 1 : 0;
    if (over_at_smallest_ == kMostOver / 2) {  // is `alone` out of date?
      tail_shared_.clear();
      probe(options_.probe_steps);
    }
    if (over_at_smallest_ < kMostOver) return;
    tail_shared_.clear();
    over_at_smallest_ = 0;
    rest_left_ = kRest;
    ++num_rests_;
  }
}

Slowdown Pace::slowdown() const {
  Slowdown all;
  all.alone_s = quantile(alone_seconds_, 0.5);
  all.num_alone = static_cast<std::int64_t>(all_alone_.size());
  all.num_shared = static_cast<std::int64_t>(all_shared_.size());
  if (!all_shared_.empty()) {
    all.median = quantile(all_shared_, 0.5) - 1;
    all.p99 = quantile(all_shared_, 0.99) - 1;
  }
  if (!all_shared_.empty() && !all_alone_.empty())
    all.mean = mean(all_shared_) / mean(all_alone_) - 1;
  if (!all_alone_.empty()) all.alone_p99 = quantile(all_alone_, 0.99) - 1;
  return all;
}

}  // namespace nereus::launch
