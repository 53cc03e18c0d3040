#include "search/burst/costs.hpp"

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

Problem make_problem(const std::vector<BlockCosts>& blocks, const std::vector<Edge>& edges,
                     const Prices& prices, int global_batch, const std::vector<int>& counts) {
  Problem out;
  out.counts = counts;
  out.edges = edges;
  out.num_ranks = counts.back();
  const auto sum_of = [&](const BlockCosts& own, int count) {
    return count > 1 && own.gradient_bytes > 0 ? prices.sum(count, own.gradient_bytes) : 0;
  };
  std::vector<double> exposed;  // share of sums, by count
  for (const int count : counts) {
    double sums = 0, backward = 0;
    for (const BlockCosts& own : blocks) {
      sums += sum_of(own, count);
      if (own.backward) backward += own.backward(samples_per_rank(global_batch, count));
    }
    exposed.push_back(sums > 0 ? std::max(0.0, 1 - prices.overlap * backward / sums) : 0);
  }
  for (const BlockCosts& own : blocks) {
    Block block;
    block.name = own.name;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const int samples = samples_per_rank(global_batch, counts[k]);
      block.seconds.push_back(own.seconds(samples) + exposed[k] * sum_of(own, counts[k]));
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
