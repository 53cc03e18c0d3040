#include "simulate/compat/astra_sim.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/error.hpp"

namespace nereus::simulate {

namespace {

std::int64_t floor_of(double ns) { return static_cast<std::int64_t>(std::floor(ns)); }

// The words of one collective on one dimension: t(), r() and the sums over them.
class Chunk {
 public:
  Chunk(const AstraSystem& system, const AstraDimension& dimension)
      : system_(system), dimension_(dimension), n_(dimension.num_ranks) {}

  std::int64_t time(Collective collective, std::int64_t bytes) const {
    switch (dimension_.algorithm) {
      case AstraAlgorithm::kRing:
        return ring(collective, bytes);
      case AstraAlgorithm::kDirect:
        return direct(collective, bytes);
      default:
        return halving_doubling(collective, bytes);
    }
  }

 private:
  std::int64_t message(std::int64_t bytes) const {
    const double wire = static_cast<double>(bytes) / (dimension_.bandwidth * 1.073741824);
    if (dimension_.topology != AstraTopology::kSwitch) return floor_of(dimension_.latency + wire);
    if (!system_.aware) return floor_of(2 * dimension_.latency + wire);
    const std::int64_t stored = 2 * floor_of(dimension_.latency + wire);
    return dimension_.algorithm == AstraAlgorithm::kDirect ? (n_ - 2) * floor_of(wire) + stored
                                                           : stored;
  }
  std::int64_t reduction(std::int64_t bytes) const {
    return 3 * floor_of(static_cast<double>(bytes) / system_.memory);
  }

  std::int64_t ring(Collective collective, std::int64_t c) const {
    const std::int64_t m = c / n_, e = system_.endpoint_delay;
    switch (collective) {
      case Collective::kAllReduce:
        return 2 * (n_ - 1) * message(m) + (n_ - 1) * reduction(m) + (2 * n_ - 1) * e;
      case Collective::kReduceScatter:
        return (n_ - 1) * (message(m) + reduction(m)) + n_ * e;
      case Collective::kAllGather:
        return (n_ - 1) * message(c) + n_ * e;
      default: {
        const std::int64_t messages = n_ * (n_ - 1) / 2;
        return messages * message(m) + (messages + 1) * e;
      }
    }
  }

  std::int64_t direct(Collective collective, std::int64_t c) const {
    const std::int64_t m = c / n_, e = system_.endpoint_delay;
    switch (collective) {
      case Collective::kAllReduce:
        return 2 * message(m) + reduction(m) + 3 * e;
      case Collective::kReduceScatter:
        return message(m) + reduction(m) + 2 * e;
      case Collective::kAllGather:
        return message(c) + 2 * e;
      default:
        return message(m) + 2 * e;
    }
  }

  std::int64_t halving_doubling(Collective collective, std::int64_t c) const {
    const int k = std::countr_zero(static_cast<std::uint64_t>(n_));
    const std::int64_t e = system_.endpoint_delay;
    std::int64_t sum = 0;
    if (collective == Collective::kAllGather) {
      for (int i = 0; i < k; ++i) sum += message(c << i);
      return sum + (k + 1) * e;
    }
    const int phases = collective == Collective::kAllReduce ? 2 : 1;
    for (int i = 1; i <= k; ++i) sum += phases * message(c >> i) + (i >= 2 ? reduction(c >> i) : 0);
    return sum + (phases * k + 1) * e;
  }

  const AstraSystem& system_;
  const AstraDimension& dimension_;
  std::int64_t n_;
};

std::string why_not(const AstraSystem& system, const AstraDimension& dimension,
                    Collective collective) {
  const auto n = static_cast<unsigned>(dimension.num_ranks);
  if (dimension.algorithm == AstraAlgorithm::kDoubleBinaryTree)
    return "the double binary tree has no formula";
  if (dimension.algorithm == AstraAlgorithm::kHalvingDoubling) {
    if (collective == Collective::kAllToAll) return "halving-doubling offers no all-to-all";
    if (!std::has_single_bit(n))
      return fmt::format(
          "halving-doubling on {} ranks never finishes in ASTRA-sim (it needs a "
          "power of two: {} or {})",
          n, std::bit_floor(n), std::bit_ceil(n));
  }
  if (system.aware && system.active_chunks > 1)
    return "several active chunks have no formula where congestion counts";
  return {};
}

}  // namespace

AstraOutcome astra_time(const AstraSystem& system, const AstraDimension& dimension,
                        Collective collective, std::int64_t bytes) {
  NEREUS_CHECK(dimension.num_ranks >= 2 && dimension.bandwidth > 0 && dimension.latency >= 0,
               "a dimension joins two ranks or more by links that carry something");
  NEREUS_CHECK(system.splits >= 1 && system.active_chunks >= 1 && system.memory > 0 && bytes >= 0,
               "a system has chunks and memory");
  if (std::string why = why_not(system, dimension, collective); !why.empty())
    return {0, std::move(why)};
  const double n = dimension.num_ranks, most = static_cast<double>(bytes);
  const double longest = n * n * (2 * dimension.latency + system.endpoint_delay) +
                         n * n * most * (2 / dimension.bandwidth + 3 / system.memory);
  if (longest * (system.splits + 1) > 9e18 || n * most > 9e18)
    return {0, "takes longer than 64 bits of ns can count"};
  const std::int64_t chunk_bytes = bytes / system.splits;
  const std::int64_t chunks =
      chunk_bytes == 0 ? system.splits : (bytes + chunk_bytes - 1) / chunk_bytes;
  const std::int64_t rounds = (chunks + system.active_chunks - 1) / system.active_chunks;
  return {rounds * Chunk(system, dimension).time(collective, chunk_bytes), {}};
}

}  // namespace nereus::simulate
