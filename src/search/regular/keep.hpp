// The plans worth keeping: the best of each of the best layouts, or the Pareto front.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "search/regular/regular_search.hpp"

namespace nereus::search {

using Values = std::array<double, kNumObjectives>;

// In every objective asked for at least as good.
bool at_least_as_good(const Values& a, const Values& b, const std::vector<Objective>& objectives);
// Whether `a` comes before `b`: by the objectives in turn, then by what is offloaded, then by
// memory.
bool comes_before(const Candidate& a, const Candidate& b, const std::vector<Objective>& objectives);

// The same ways to train: what one plan of a list stands for.
bool same_layout(const plan::Degrees& a, const plan::Degrees& b);

class Keeper {
 public:
  // Nothing above `limit` of the first objective need be kept.
  Keeper(std::vector<Objective> objectives, int top,
         double limit = std::numeric_limits<double>::infinity())
      : objectives_(std::move(objectives)), top_(top), limit_(limit) {}

  // Candidates come in a fixed order; of equals the first stays.
  void offer(const Candidate& candidate);
  // Whether a candidate of that layout that is no better than these values can be left out.
  bool beyond(const Values& bound, int cluster, const plan::Degrees& layout) const;
  std::vector<Candidate> take_sorted();
  const std::vector<Candidate>& all() const { return kept_; }
  bool is_front() const { return objectives_.size() > 1; }

 private:
  void sort();

  std::vector<Objective> objectives_;
  int top_;
  double limit_;
  std::vector<Candidate> kept_;  // sorted
};

}  // namespace nereus::search
