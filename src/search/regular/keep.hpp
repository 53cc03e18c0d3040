// The plans worth keeping: the best plan of each of the best layouts, or the Pareto front.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "search/regular/regular_search.hpp"

namespace nereus::search {

using Values = std::array<double, kNumObjectives>;

// Whether `a` is at least as good in every given objective.
bool at_least_as_good(const Values& a, const Values& b, const std::vector<Objective>& objectives);
// Whether `a` comes before `b`: by the objectives in turn, then by what is offloaded, then by
// memory.
bool comes_before(const Candidate& a, const Candidate& b, const std::vector<Objective>& objectives);

// Whether two plans have the same layout; a list shows one plan per layout.
bool same_layout(const plan::Degrees& a, const plan::Degrees& b);

class Keeper {
 public:
  // Nothing above `limit` in the first objective needs to be kept.
  Keeper(std::vector<Objective> objectives, int top,
         double limit = std::numeric_limits<double>::infinity())
      : objectives_(std::move(objectives)), top_(top), limit_(limit) {}

  // Candidates must come in a fixed order; of equal ones the first stays.
  void offer(const Candidate& candidate);
  // Whether a candidate of that layout can be skipped, given that it is no better than `bound`.
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
