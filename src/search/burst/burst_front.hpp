// All plans of a burst problem (search/burst/problem.hpp) that no other beats: least seconds for
// their rank-seconds, least rank-seconds for their seconds.
//
// Labels (seconds, rank-seconds, and bytes where memory binds) are carried along the chain for each
// candidate of the block in hand. Of two labels at the same place one that is no better in anything
// is dropped: whatever follows costs both the same. A link with branches is a table of labels
// between every pair of candidates. On the trunk a label is also dropped where no completion of it
// can lie before the front of plans found so far; bounds on completions are least costs of seconds
// + lambda rank-seconds for some lambda, from the back, and the plans found so far are those of few
// candidates, or come from a first walk that drops labels which gain little. Branches that are
// equal block by block are worked out once. All this only saves time: the front is exact.
//
// Where memory binds, the front without memory comes first. Those of its plans that fit are the
// best there are, and between two that are neighbours there is nothing; only where some do not fit
// are labels of three numbers looked at. They can still be too many (memory that is too little for
// half of a large front): then the rest of the front is of counts so wide that every plan fits, and
// `gap` says how far that may be from the best.
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
  int first_rank = 0;  // 0 on the trunk; of ranks of a branch's own their first
  bool operator==(const BlockPlace&) const = default;
};

struct BurstPlan {
  double seconds = 0;
  double rank_seconds = 0;
  double memory = 0;  // of the fullest rank of the trunk; 0 where the problem has none
  std::vector<BlockPlace> blocks{};
};

struct Front {
  std::vector<BurstPlan>
      plans{};  // seconds rise, rank-seconds fall; none: memory suffices for none
  std::vector<std::string> notes{};
  std::int64_t labels = 0;  // that were made
  double least_memory = 0;  // of any plan, where none fits
  // For any plan there is, one of these is as fast and has at most (1 + gap) of its rank-seconds.
  // 0: exact.
  double gap = 0;
  bool is_proven = true;  // nobody knows of such a gap where sums hide (search/burst/overlap.hpp)
  // No plan takes less than 1 / (1 + time_gap) of the fastest's seconds; none: nobody knows
  // (search/burst/overlap.hpp).
  std::optional<double> time_gap = 0.0;
  bool is_stopped = false;  // of few counts of ranks, since it was to end
};

// Throws Stopped where the problem's `stop` says so before there are plans; else `is_stopped`.
// `most_labels`: to make before the exact way is given up, where memory binds.
inline constexpr std::int64_t kMostLabels = 3'000'000;
Front solve(const Problem& problem, std::int64_t most_labels = kMostLabels);

// What it costs to put every block where `candidates` says, all on the trunk: branches one after
// the other.
BurstPlan evaluate(const Problem& problem, const std::vector<int>& candidates);

}  // namespace nereus::burst
