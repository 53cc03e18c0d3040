#include "measure/machine_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "cluster/links.hpp"

namespace nereus::measure {

namespace {

struct Pair {
  const profile::RankLink* largest = nullptr;
  double rate() const { return largest->bytes / largest->seconds.median; }
};

std::vector<Pair> pairs_of(const profile::Machine& machine) {
  std::map<std::pair<int, int>, Pair> pairs;
  for (const profile::RankLink& own : machine.links) {
    Pair& pair = pairs[{own.from, own.to}];
    if (!pair.largest || own.bytes > pair.largest->bytes) pair.largest = &own;
  }
  std::vector<Pair> list;
  for (const auto& [ranks, pair] : pairs) list.push_back(pair);
  return list;
}

double median_rate(const std::vector<Pair>& pairs, bool same_host) {
  std::vector<double> rates;
  for (const Pair& pair : pairs)
    if (pair.largest->same_host == same_host) rates.push_back(pair.rate());
  return profile::quantile(rates, 0.5);
}

std::string rate_text(double rate) { return format_rate(BytesPerSecond{rate}); }

}  // namespace

std::vector<SlowLink> slow_links(const profile::Machine& machine, const cluster::Cluster* cluster) {
  const std::vector<Pair> pairs = pairs_of(machine);
  std::vector<SlowLink> slow;
  for (const Pair& pair : pairs) {
    const profile::RankLink& own = *pair.largest;
    const auto add = [&](double wanted, const char* whose) {
      slow.push_back({own.from, own.to, pair.rate(), wanted,
                      fmt::format("ranks {} and {}: {}, {:.0f} % of the {} {}", own.from, own.to,
                                  rate_text(pair.rate()), 100 * pair.rate() / wanted,
                                  rate_text(wanted), whose)});
    };
    if (cluster && std::max(own.from, own.to) < cluster->num_devices()) {
      const double stated = cluster::link_between(*cluster, own.from, own.to).bandwidth.value;
      if (stated > 0 && pair.rate() < kLeastOfCatalogue * stated) {
        add(stated, "that the cluster states");
        continue;
      }
    }
    const double others = median_rate(pairs, own.same_host);
    if (pair.rate() < kLeastOfOthers * others) add(others, "of the median pair");
  }
  return slow;
}

}  // namespace nereus::measure
