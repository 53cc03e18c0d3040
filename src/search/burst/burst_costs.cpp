#include "search/burst/burst_costs.hpp"

#include <algorithm>

namespace nereus::burst {

Prices deeppool_prices(double bandwidth, double move_delay) {
  Prices out;
  out.sum = [bandwidth](int count, double bytes) {
    return 2.0 * (count - 1) / count * bytes / bandwidth;
  };
  out.move = [bandwidth, move_delay](int samples) {
    return MoveCost{2 * move_delay, 2.0 * samples / bandwidth};
  };
  return out;
}

double sum_seconds(const BlockCosts& block, const Prices& prices, int count) {
  return count > 1 && block.gradient_bytes > 0 ? prices.sum(count, block.gradient_bytes) : 0;
}

Problem make_problem(const std::vector<BlockCosts>& blocks, const std::vector<Edge>& edges,
                     const Prices& prices, int global_batch, const std::vector<int>& counts,
                     const std::vector<double>& exposed) {
  Problem out;
  out.counts = counts;
  out.edges = edges;
  out.num_ranks = counts.back();
  for (const BlockCosts& own : blocks) {
    Block block;
    block.name = own.name;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const int samples = samples_per_rank(global_batch, counts[k]);
      const double shown = exposed.empty() ? 1 : exposed[k];
      block.seconds.push_back(own.seconds(samples) + shown * sum_seconds(own, prices, counts[k]));
      block.memory.push_back(own.state_bytes + own.kept_bytes * samples);
    }
    out.blocks.push_back(std::move(block));
  }
  for (const int from : counts)
    for (const int to : counts) {
      const int a = samples_per_rank(global_batch, from), b = samples_per_rank(global_batch, to);
      out.near.push_back(from == to ? MoveCost{} : prices.move(moved_samples(a, b)));
      out.away.push_back(prices.move(std::max(a, b)));
    }
  return out;
}

}  // namespace nereus::burst
