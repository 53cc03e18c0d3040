#include "launch/elastic/step_times.hpp"

#include <algorithm>
#include <vector>

namespace nereus::launch {

namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Halves {
  double before = 0, last = 0;
  double less() const { return std::min(before, last); }
  double more() const { return std::max(before, last); }
};

// The median of each half.
Halves halves(const std::deque<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  return {median({values.begin(), middle}), median({middle, values.end()})};
}

}  // namespace

void StepTimes::add(int rank, const job::Message& step) {
  Rank& own = ranks_[rank];
  if (++own.seen <= kWarmUp) return;
  const job::Waits& w = step.waits;
  own.busy.push_back(step.seconds - w.tensor - w.pipeline - w.gather - w.reduce - w.checkpoint);
  own.step.push_back(step.seconds - w.checkpoint);
  if (own.busy.size() <= kWindow) return;
  own.busy.pop_front();
  own.step.pop_front();
}

std::optional<SlowRank> StepTimes::slowest() const {
  if (ranks_.size() < 2) return std::nullopt;
  SlowRank slow;
  std::vector<double> busiest;  // per rank, the larger of its two halves
  for (const auto& [rank, own] : ranks_) {
    if (own.busy.size() < kWindow) return std::nullopt;
    const Halves busy = halves(own.busy);
    slow.step = std::max(slow.step, halves(own.step).less());
    busiest.push_back(busy.more());
    if (busy.less() <= slow.busy) continue;
    slow.rank = rank;
    slow.busy = busy.less();
  }
  std::vector<double> others;
  auto more = busiest.begin();
  for (const auto& [rank, own] : ranks_) {
    if (rank != slow.rank) others.push_back(*more);
    ++more;
  }
  slow.others = median(others);
  if (slow.rank < 0 || slow.busy < kSlow * slow.others) return std::nullopt;
  slow.healthy = slow.step - (slow.busy - *std::max_element(others.begin(), others.end()));
  return slow;
}

std::optional<double> leaving_out_pays(const SlowRank& slow, const WithoutIt& plans) {
  if (plans.planned_now <= 0 || plans.planned_without <= 0) return std::nullopt;
  const double without = slow.healthy * plans.planned_without / plans.planned_now;
  const bool clearly = without < kClearly * slow.step;
  const bool soon = (1 - without / slow.step) * plans.lasts > plans.morph;
  return clearly && soon ? std::optional(without) : std::nullopt;
}

}  // namespace nereus::launch
