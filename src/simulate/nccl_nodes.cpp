#include "simulate/nccl_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace nereus::simulate {

namespace {

// `wire` seconds of bytes in pieces over latencies of `latency`.
double pipelined(double wire, double latency) {
  const double root = std::sqrt(wire) + std::sqrt(latency);
  return root * root;
}

double inside_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes) {
  return site.per_node > 1 ? bytes / (numbers.inside.efficiency * site.link) : 0;
}

double network_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes) {
  return site.nodes() > 1 ? bytes / (numbers.network_efficiency * site.network) : 0;
}

// `phases` times round the ring.
double ring_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes,
                    int phases) {
  const double n = site.num_ranks;
  const auto slowest = [&](double of) {
    return std::max(inside_seconds(numbers, site, of), network_seconds(numbers, site, of));
  };
  const double latency =
      phases * ((n - site.nodes()) * numbers.inside.step + (site.nodes() - 1) * site.network_step);
  return numbers.inside.floor + pipelined(slowest(phases * (n - 1) / n * bytes), latency) +
         numbers.inside.tail * slowest(bytes / n);
}

double tree_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes) {
  const double passes = site.nodes() > 2 ? 2 : 1;
  const double latency = 2 * ((site.per_node - 1) * numbers.inside.step +
                              std::ceil(std::log2(site.nodes())) * site.network_step);
  return numbers.inside.floor + pipelined(std::max(inside_seconds(numbers, site, bytes),
                                                   network_seconds(numbers, site, passes * bytes)),
                                          latency);
}

double switch_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes) {
  return numbers.inside.floor +
         pipelined(bytes / (numbers.switch_efficiency * site.link), 2 * numbers.inside.step);
}

}  // namespace

double all_reduce_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes,
                          NcclAlgorithm algorithm) {
  NEREUS_CHECK(site.per_node >= 1 && site.num_ranks % site.per_node == 0,
               "ranks lie evenly on nodes");
  if (site.num_ranks == 1) return 0;
  const auto wanted = [&](NcclAlgorithm own) {
    return algorithm == NcclAlgorithm::kAny || algorithm == own;
  };
  double best = std::numeric_limits<double>::infinity();
  if (wanted(NcclAlgorithm::kRing)) best = ring_seconds(numbers, site, bytes, 2);
  if (wanted(NcclAlgorithm::kTree) && site.nodes() > 1)
    best = std::min(best, tree_seconds(numbers, site, bytes));
  if (wanted(NcclAlgorithm::kSwitch) && site.adds && site.nodes() == 1)
    best = std::min(best, switch_seconds(numbers, site, bytes));
  return best;
}

double all_gather_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes) {
  return site.num_ranks == 1 ? 0 : ring_seconds(numbers, site, bytes, 1);
}

}  // namespace nereus::simulate
