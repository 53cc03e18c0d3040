#include "launch/elastic/save_pace.hpp"

#include <algorithm>

#include "base/checkpoint_interval.hpp"

namespace nereus::launch {

void SavePace::begin(double now) {
  if (!begun_) begun_ = last_ = now;
}

void SavePace::step(double now, double seconds) {
  begin(now);
  ++steps_;
  constexpr double kNew = 0.2;  // share of the newest in the mean
  if (asked_)
    longer_ += seconds - usual_;
  else
    usual_ = usual_ > 0 ? (1 - kNew) * usual_ + kNew * seconds : seconds;
}

void SavePace::copied(double seconds) { copying_ = std::max(copying_, seconds); }

void SavePace::written(double now) {
  if (!asked_) return;  // another rank has reported it already, or no save was requested
  write_ = now - *asked_;
  const double cost = std::max(copying_, longer_);
  cost_ = measured_ ? (cost_ + cost) / 2 : cost;
  last_ = asked_;
  asked_.reset();
  measured_ = true;
}

std::optional<SavePace::Numbers> SavePace::numbers(double now, bool single_copy) const {
  if (!measured_ || !begun_) return std::nullopt;
  Numbers out{0, cost_, write_, 0};
  out.between = (now - *begun_) / std::max(1, single_copy ? losses_ : rollbacks_);
  out.interval = std::max(daly_interval(out.cost, out.between), kWriting * out.write);
  return out;
}

bool SavePace::is_due(double now, bool single_copy) const {
  if (asked_) return now - *asked_ > std::max(kGivenUp, 10 * write_);
  const std::optional<Numbers> known = numbers(now, single_copy);
  return known ? now - *last_ >= known->interval : steps_ >= kFirstSteps;
}

}  // namespace nereus::launch
