// Burst parallelism as a planning problem (Park et al., DeepPool, MLSys 2022): the global batch is
// fixed, and every block of the model gets a number of ranks of its own. This is the model that is
// optimised, exactly:
//
//   candidates   counts c_1 < ... < c_K of ranks; a block on c ranks gives each l = ceil(B / c)
//                samples, the last rank what is left
//   block        seconds t_b(c): forward and backward of l samples and the sum of its gradients
//                over c ranks; it holds c ranks as long
//   move         seconds m_e(c, c') for the samples that change ranks on an edge between blocks of
//                c and c' ranks, forward and (gradients) backward; it holds max(c, c') ranks,
//                between ranks that are not the same c + c'
//   chain        seconds and rank-seconds add up. A rank that waits is not held: others use it
//   branches     between a fork and its join each branch runs on the trunk's own ranks, one after
//                the other, or on ranks of its own beside them. The branch of the most seconds on
//                one rank stays with the trunk. Seconds are max(sum of those that stay, each of the
//                others), rank-seconds the sum. A branch within a branch stays with it
//   ranks        the trunk has `trunk_ranks`; the branches of a link that leave it share the rest
//                evenly
//   memory       of the fullest rank, which computes its share of every block of the trunk
//
// Which counts are candidates: the work of a rank depends on l alone, a sum over more ranks of
// equal l never takes less, and they hold more; so of all counts with the same l the least, ceil(B
// / l), is as good as any: some 2 sqrt(B) of them stand for all (candidate_counts).
//
// Where the samples are: chunk i of l samples lies on the rank of its first sample, floor(i l / l*)
// with l* the least l there is. Of two layers with l < l', where l divides l', every rank of the
// second keeps l and takes l' - l more; else it may have none of them and takes l'. A rank that
// only the first has gives l away. This does not depend on the layers before, so that pairs of
// neighbours are all there is to price (moved_samples).
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace nereus::burst {

struct Block {
  std::string name{};
  std::vector<double> seconds{};  // by candidate; infinite: not allowed
  std::vector<double> memory{};   // bytes on each of its ranks, by candidate; empty: none
};

struct Edge {
  int from = 0;
  int to = 0;
  double bytes = 0;  // of a sample; 0: nothing to move
};

// Seconds of a move = fixed + per_byte x bytes of a sample.
struct MoveCost {
  double fixed = 0;
  double per_byte = 0;
};

struct Stopped {};  // thrown by a search that was asked to end

struct Problem {
  std::vector<int> counts{};    // candidates, ascending
  std::vector<Block> blocks{};  // in topological order
  std::vector<Edge> edges{};
  std::vector<MoveCost> near{};  // K x K by candidates from and to, on the trunk's ranks
  std::vector<MoveCost> away{};  // the same, to or from other ranks: no sample stays
  int num_ranks = 1;
  // Candidates above are not used. 0: the widest candidate; and where that leaves no
  // rank for branches, half of all ranks as well.
  int trunk_ranks = 0;
  double memory_limit = std::numeric_limits<double>::infinity();

  std::function<bool()> stop{};  // asked now and then, by all threads

  void check_stop() const {
    if (stop && stop()) throw Stopped{};
  }
  int num_candidates() const { return static_cast<int>(counts.size()); }
  const MoveCost& near_of(int from, int to) const {
    return near[static_cast<std::size_t>(from * num_candidates() + to)];
  }
  const MoveCost& away_of(int from, int to) const {
    return away[static_cast<std::size_t>(from * num_candidates() + to)];
  }
};

// ceil(B / l) for l = 1, 2, ...: ascending, at most `most`.
std::vector<int> candidate_counts(int global_batch, int most);
// 1, 2, 4, ... up to both.
std::vector<int> powers_of_two(int global_batch, int most);
// Indices of some ascending counts up to `most`: all up to `all_to`, then each at most twice the
// one before, where there is one, and the last.
std::vector<std::size_t> doubling(const std::vector<int>& counts, int most, int all_to = 1);
// Those counts; all up to `most` where they are few.
inline constexpr std::size_t kFewCounts = 16;
std::vector<int> some_counts(const std::vector<int>& counts, int most, int all_to);
// The least count for the same samples a rank.
int canonical_count(int global_batch, int count);

inline int samples_per_rank(int global_batch, int count) {
  return (global_batch + count - 1) / count;
}

// Samples that the busiest rank sends or takes between layers of l and l' samples a rank.
int moved_samples(int l, int next);

// Seconds of moving the edge's samples; 0 where nothing moves.
inline double move_seconds(const MoveCost& cost, double bytes) {
  return bytes > 0 ? cost.fixed + cost.per_byte * bytes : 0;
}

}  // namespace nereus::burst
