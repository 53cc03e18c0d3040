// Burst parallelism as a planning problem (Park et al., DeepPool, MLSys 2022): the global batch is
// fixed, and every block of the model may run on a different number of ranks. This is the exact
// model that the search optimizes:
//
//   candidates   the rank counts c_1 < ... < c_K. A block on c ranks has l = ceil(B / c)
//                samples per rank; the last rank has the remainder
//   block        t_b(c) is the time of forward and backward of l samples, and of the all-reduce of
//                the block's gradients over c ranks. The block holds c ranks for that time
//   move         m_e(c, c') is the time to move samples along an edge between blocks on c and c'
//                ranks, forward and (gradients) backward. It holds max(c, c') ranks, or c + c' if
//                the two blocks share no rank
//   chain        times and rank-seconds are sums. A rank that waits is not held: others may use it
//   branches     between a fork and its join, each branch runs either on the trunk's ranks, one
//                after the other, or concurrently on other ranks. The branch that takes longest on
//                one rank stays on the trunk. The time is the larger of the sum of the branches
//                that stay and the longest branch that leaves; rank-seconds are the sum over all
//                branches. A branch within a branch runs on the same ranks as the outer one
//   ranks        the trunk has `trunk_ranks`. The branches that leave it between one fork and its
//                join share the remaining ranks evenly
//   memory       bytes of the fullest rank: one that computes its share of every block of the trunk
//
// Which counts are candidates: the work of a rank depends on l only. With equal l, an all-reduce
// over more ranks is never faster, and it holds more ranks. So among all counts with the same l the
// smallest, ceil(B / l), is at least as good as the others: about 2 sqrt(B) counts are enough
// (candidate_counts).
//
// Where the samples are: chunk i of l samples is on rank floor(i l / l*), the rank that has the
// chunk's first sample in the finest division, where l* is the smallest l of all candidates.
// Consider two layers with l < l' samples per rank. If l divides l', every rank of the second layer
// keeps l samples and receives l' - l more. Otherwise a rank may have none of its samples for the
// second layer, and receive all l'. A rank that only the first layer uses sends l samples. None of
// this depends on earlier layers, so only pairs of neighboring layers need a price (moved_samples).
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace nereus::burst {

struct Block {
  std::string name{};
  std::vector<double> seconds{};  // per candidate; infinite: not allowed
  std::vector<double> memory{};   // bytes on each rank, per candidate; empty: not counted
};

struct Edge {
  int from = 0;
  int to = 0;
  double bytes = 0;  // per sample; 0: nothing to move
};

// Seconds of a move = fixed + per_byte x bytes per sample.
struct MoveCost {
  double fixed = 0;
  double per_byte = 0;
};

struct Stopped {};  // thrown by a search that was asked to stop

struct Problem {
  std::vector<int> counts{};    // candidates, ascending
  std::vector<Block> blocks{};  // in topological order
  std::vector<Edge> edges{};
  std::vector<MoveCost> near{};  // K x K, by candidates from and to; both on the trunk's ranks
  std::vector<MoveCost> away{};  // K x K, to or from ranks off the trunk: every sample moves
  int num_ranks = 1;
  // Largest candidate that the trunk may use. 0: the largest of all; if that leaves no rank for
  // branches, half of all ranks is tried as well.
  int trunk_ranks = 0;
  double memory_limit = std::numeric_limits<double>::infinity();

  std::function<bool()> stop{};  // called from time to time, by all threads

  void check_stop() const {
    if (stop && stop()) throw Stopped{};
  }
  int num_candidates() const { return static_cast<int>(counts.size()); }
  const MoveCost& near_of(int from, int to) const { return near[from * num_candidates() + to]; }
  const MoveCost& away_of(int from, int to) const { return away[from * num_candidates() + to]; }
};

// ceil(B / l) for l = 1, 2, ...: ascending, at most `most`.
std::vector<int> candidate_counts(int global_batch, int most);
// 1, 2, 4, ... up to the smaller of `global_batch` and `most`.
std::vector<int> powers_of_two(int global_batch, int most);
// Picks some of the ascending counts up to `most`, and returns their indices: all up to `all_to`,
// then repeatedly the largest count that is at most twice the one before (else the next one), and
// always the last one.
std::vector<std::size_t> doubling(const std::vector<int>& counts, int most, int all_to = 1);
// The counts that doubling() picks; all counts up to `most` if there are at most kFewCounts.
inline constexpr std::size_t kFewCounts = 16;
std::vector<int> some_counts(const std::vector<int>& counts, int most, int all_to);
// The smallest count with the same number of samples per rank.
int canonical_count(int global_batch, int count);

inline int samples_per_rank(int global_batch, int count) {
  return (global_batch + count - 1) / count;
}

// Samples that the busiest rank sends or receives between layers with l and l' samples per rank.
int moved_samples(int l, int next);

// Seconds to move the edge's samples; 0 if nothing moves.
inline double move_seconds(const MoveCost& cost, double bytes) {
  return bytes > 0 ? cost.fixed + cost.per_byte * bytes : 0;
}

}  // namespace nereus::burst
