#include "search/burst/burst_bounds.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace nereus::burst {

namespace {

constexpr double kRounding = 1e-11;  // sums in another order
constexpr double kFar = 1e30;        // behind all plans

// The first of n for which it holds; it holds for all behind. Looks near `at` first.
template <class Holds>
std::size_t first_true(std::size_t at, std::size_t n, const Holds& holds) {
  constexpr std::size_t kNear = 4;
  std::size_t low = 0, high = n;
  if (at > 0 && holds(at - 1)) {
    high = at - 1;
    if (high >= kNear && !holds(high - kNear)) low = high - kNear + 1;
  } else if (at < n && !holds(at)) {
    low = at + 1;
    if (low + kNear < n && holds(low + kNear)) high = low + kNear;
  } else {
    return at;
  }
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

std::vector<KnownPlan> front_of(std::vector<KnownPlan> plans) {
  std::sort(plans.begin(), plans.end(), [](const KnownPlan& a, const KnownPlan& b) {
    return std::tie(a.seconds, a.rank_seconds) < std::tie(b.seconds, b.rank_seconds);
  });
  double least = kFar;
  std::erase_if(plans, [&](const KnownPlan& own) {
    const bool worse = own.rank_seconds >= least;
    least = std::min(least, own.rank_seconds);
    return worse;
  });
  return plans;
}

}  // namespace

Bounds::Bounds(const std::vector<Weight>& weights, std::vector<KnownPlan> plans,
               const std::vector<KnownPlan>& before)
    : weights_(weights), all_(plans.empty()) {
  const std::vector<KnownPlan> known = front_of(std::move(plans));
  // Neither the fastest nor the least rank-seconds need be known yet.
  if (!known.empty()) corners_.push_back({known.front().seconds, kFar});
  for (std::size_t i = 0; i + 1 < known.size(); ++i)
    corners_.push_back({known[i + 1].seconds, known[i].rank_seconds});
  if (!known.empty()) corners_.push_back({kFar, known.back().rank_seconds});
  if (!before.empty())
    std::erase_if(corners_, [&](const KnownPlan& corner) {
      return std::none_of(before.begin(), before.end(), [&](const KnownPlan& own) {
        return own.seconds < corner.seconds && own.rank_seconds < corner.rank_seconds;
      });
    });
  const std::size_t n = corners_.size();
  for (const Weight& w : weights_) {
    std::vector<double> table(n);
    for (std::size_t i = 0; i < n; ++i)
      table[i] = w.seconds * corners_[i].seconds + w.rank_seconds * corners_[i].rank_seconds;
    for (std::size_t width = 2; width <= n; width *= 2) {
      const std::size_t half = table.size() - n;
      table.resize(table.size() + n, 0.0);
      for (std::size_t i = 0; i + width <= n; ++i)
        table[half + n + i] = std::max(table[half + i], table[half + i + width / 2]);
    }
    most_.push_back(std::move(table));
  }
}

bool Bounds::useful(const double* rest, double seconds, double rank_seconds) {
  if (all_) return true;
  const double slack = 1 - kRounding;
  const double t = (seconds + rest[0]) * slack;
  const double c = (rank_seconds + rest[1]) * slack;
  // Corners from first_ on are slow enough, and those before last_ hold enough ranks. Labels come
  // in sequences, so both indices move little or far.
  const auto slow = [&](std::size_t i) { return corners_[i].seconds >= t; };
  const auto dear = [&](std::size_t i) { return corners_[i].rank_seconds < c; };
  first_ = first_true(first_, corners_.size(), slow);
  last_ = first_true(last_, corners_.size(), dear);
  if (first_ >= last_) return false;
  const std::size_t begin = first_, width = last_ - first_;
  const auto level = static_cast<std::size_t>(std::bit_width(width) - 1);
  const std::size_t second = begin + width - (std::size_t{1} << level);
  const auto behind = [&](std::size_t w) {
    const double* row = &most_[w][level * corners_.size()];
    const double bound =
        weights_[w].seconds * seconds + weights_[w].rank_seconds * rank_seconds + rest[w];
    return bound * slack > std::max(row[begin], row[second]);
  };
  // Neighbours mostly fail by the same weight.
  if (behind(weight_)) return false;
  for (std::size_t w = 2; w < weights_.size(); ++w)
    if (behind(w)) {
      weight_ = w;
      return false;
    }
  return true;
}

}  // namespace nereus::burst
