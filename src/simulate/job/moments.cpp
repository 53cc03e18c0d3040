#include "simulate/job/moments.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace nereus::simulate {

std::vector<Moment> moments_of(const Availability& trace, const Policy& policy) {
  std::vector<Moment> out{{.time = trace.begin}};
  for (const AvailabilityEvent& event : trace.events) {
    if (out.back().time != event.time) out.push_back({.time = event.time});
    (event.added ? out.back().added : out.back().removed).push_back(event.node);
    if (!event.added) out.back().seen.push_back(event.seen);
  }
  std::vector<Moment> notices;
  for (std::size_t i = 1; i < out.size(); ++i) {
    std::map<double, std::vector<int>> by_notice;
    for (std::size_t r = 0; r < out[i].removed.size(); ++r) {
      const std::optional<double>& seen = out[i].seen[r];
      double before = seen ? std::max(0.0, -*seen) : policy.notice;
      if (!policy.from_survivors) before = policy.checkpoint <= before ? policy.checkpoint : 0;
      if (before > 0) by_notice[before].push_back(out[i].removed[r]);
    }
    for (auto& [before, nodes] : by_notice)
      notices.push_back({.time = std::max(out[i].time - before, trace.begin),
                         .notice = before,
                         .removed = std::move(nodes)});
  }
  out.insert(out.end(), notices.begin(), notices.end());
  std::stable_sort(out.begin() + 1, out.end(),
                   [](const Moment& a, const Moment& b) { return a.time < b.time; });
  return out;
}

}  // namespace nereus::simulate
