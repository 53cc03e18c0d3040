// The Pareto front of a burst problem (search/burst/problem.hpp): all plans for which no other plan
// is at least as good in both seconds and rank-seconds.
//
// The search carries labels (seconds, rank-seconds, and bytes if memory is limited) along the
// chain, for each candidate of the current block. If one of two labels at the same place is no
// better than the other in any number, it is dropped, because whatever follows costs the same for
// both. A link with branches is a table of labels between every pair of candidates. On the trunk, a
// label is also dropped if no completion of it can improve the front of known plans. The bounds on
// completions are the least costs of seconds + lambda rank-seconds for some values of lambda,
// computed from the end of the chain. The known plans come from a search with only few candidates,
// or from a first walk that also drops labels with little gain. Branches with equal blocks are
// solved once. All this only saves time: the front is exact.
//
// If memory is limited, the front without that limit is computed first. Those of its plans that fit
// are optimal, and between two neighbors on the front that both fit there is no other optimal plan.
// Labels with bytes are only used where some plans do not fit. There can still be too many of them
// (if memory is too small for half of a large front). Then the rest of the front is limited to
// counts at which every plan fits, and `gap` bounds its distance from the optimum.
//
//   const Front front = solve(problem);
//   front.plans.front();          // the fastest
//   pick(front, ...)              // search/burst/pick.hpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/burst/problem.hpp"

namespace nereus::burst {

struct BlockPlace {
  int candidate = 0;   // index into counts
  int first_rank = 0;  // 0 on the trunk; else the first rank of the branch
  bool operator==(const BlockPlace&) const = default;
};

struct BurstPlan {
  double seconds = 0;
  double rank_seconds = 0;
  double memory = 0;  // of the fullest rank of the trunk; 0 if the problem has no memory limit
  std::vector<BlockPlace> blocks{};
};

struct Front {
  std::vector<BurstPlan>
      plans{};  // by rising seconds and falling rank-seconds; empty: no plan fits
  std::vector<std::string> notes{};
  std::int64_t labels = 0;  // number of labels made
  double least_memory = 0;  // the least memory of any plan, if none fits
  // For any possible plan, one of these plans is as fast and has at most (1 + gap) times its
  // rank-seconds. 0: exact.
  double gap = 0;
  // False: the gap is unknown, because all-reduces overlap (search/burst/overlap.hpp).
  bool is_proven = true;
  // No plan takes less than 1 / (1 + time_gap) of the fastest plan's seconds. Empty: unknown
  // (search/burst/overlap.hpp).
  std::optional<double> time_gap = 0.0;
  bool is_stopped = false;  // only few counts were tried, because the search was stopped
};

// If Problem::stop returns true, throws Stopped if there are no plans yet, else sets `is_stopped`.
// `most_labels` limits the labels of the exact search if memory is limited.
inline constexpr std::int64_t kMostLabels = 3'000'000;
Front solve(const Problem& problem, std::int64_t most_labels = kMostLabels);

// The cost of placing every block as `candidates` says, all on the trunk: branches run one after
// the other.
BurstPlan evaluate(const Problem& problem, const std::vector<int>& candidates);

}  // namespace nereus::burst
