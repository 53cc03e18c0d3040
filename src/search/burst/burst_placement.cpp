#include "search/burst/burst_placement.hpp"

#include <algorithm>
#include <limits>

namespace nereus::burst {

namespace {

using plan::RankRange;
using plan::Replicas;

// Equal chunks, and a smaller one at the end if they do not divide the batch.
std::vector<Replicas> replicas_of(int global_batch, int samples, int least, int first_rank) {
  std::vector<Replicas> out;
  const auto rank_of = [&](int chunk) { return first_rank + chunk * samples / least; };
  const int whole = global_batch / samples;
  for (int i = 0; i < whole;) {
    // As many ranks as are evenly spaced.
    int n = 1;
    const int stride = i + 1 < whole ? rank_of(i + 1) - rank_of(i) : 1;
    while (i + n < whole && rank_of(i + n) == rank_of(i) + n * stride) ++n;
    Replicas own;
    own.count = n;
    own.first = rank_of(i);
    own.team_stride = stride;
    own.micro_batch = samples;
    own.first_sample = static_cast<std::int64_t>(i) * samples;
    out.push_back(own);
    i += n;
  }
  if (whole * samples < global_batch) {
    Replicas rest;
    rest.first = rank_of(whole);
    rest.micro_batch = global_batch - whole * samples;
    rest.first_sample = static_cast<std::int64_t>(whole) * samples;
    out.push_back(rest);
  }
  return out;
}

std::vector<plan::StateShare> state_of(const std::vector<Replicas>& replicas) {
  plan::StateShare share;
  for (const Replicas& own : replicas)
    share.ranks.push_back(RankRange{own.first, own.count, own.team_stride});
  std::vector<plan::StateShare> out;
  for (const plan::StateKind kind :
       {plan::StateKind::kWeights, plan::StateKind::kGradients, plan::StateKind::kOptimizer}) {
    share.kind = kind;
    out.push_back(share);
  }
  return out;
}

// The smallest number of samples per rank, for each block: over the whole trunk, or over its range
// of a branch. Not over all branches with that first rank: others elsewhere may be wider, and would
// push this one onto its neighbor's ranks.
template <class SamplesOf>
std::vector<int> least_samples(const BurstPlan& burst, const SamplesOf& samples_of) {
  const std::vector<BlockPlace>& blocks = burst.blocks;
  std::vector<int> out(blocks.size());
  int trunk = std::numeric_limits<int>::max();
  for (const BlockPlace& own : blocks)
    if (own.first_rank == 0) trunk = std::min(trunk, samples_of(own));
  for (std::size_t begin = 0; begin < blocks.size();) {
    std::size_t end = begin;
    int least = std::numeric_limits<int>::max();
    for (; end < blocks.size() && blocks[end].first_rank == blocks[begin].first_rank; ++end)
      least = std::min(least, samples_of(blocks[end]));
    const bool on_trunk = blocks[begin].first_rank == 0;
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin),
              out.begin() + static_cast<std::ptrdiff_t>(end), on_trunk ? trunk : least);
    begin = end;
  }
  return out;
}

}  // namespace

plan::Placement placement_of(const BurstPlan& burst, const std::vector<int>& counts,
                             int global_batch, cluster::Precision precision) {
  const auto samples_of = [&](const BlockPlace& place) {
    return samples_per_rank(global_batch, counts[place.candidate]);
  };
  const std::vector<int> least = least_samples(burst, samples_of);
  plan::Placement out;
  out.global_batch = global_batch;
  out.precision = precision;
  for (std::size_t i = 0; i < burst.blocks.size(); ++i) {
    const BlockPlace& own = burst.blocks[i];
    if (i > 0 && own == burst.blocks[i - 1] && least[i] == least[i - 1]) {
      ++out.runs.back().num_layers;
      continue;
    }
    plan::LayerRun run;
    run.first_layer = static_cast<int>(i);
    run.num_layers = 1;
    run.replicas = replicas_of(global_batch, samples_of(own), least[i], own.first_rank);
    run.state = state_of(run.replicas);
    out.runs.push_back(std::move(run));
  }
  return out;
}

}  // namespace nereus::burst
