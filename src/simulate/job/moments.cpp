#include "simulate/job/moments.hpp"

#include <algorithm>

namespace nereus::simulate {

std::vector<Moment> moments_of(const Availability& trace, const Policy& policy) {
  std::vector<Moment> out{{trace.begin}};
  for (const AvailabilityEvent& event : trace.events) {
    if (out.back().time != event.time) out.push_back({event.time});
    (event.added ? out.back().added : out.back().removed).push_back(event.node);
  }
  double before = policy.notice;
  if (!policy.from_survivors) before = policy.checkpoint <= policy.notice ? policy.checkpoint : 0;
  if (!(before > 0)) return out;
  std::vector<Moment> notices;
  for (std::size_t i = 1; i < out.size(); ++i)
    if (!out[i].removed.empty())
      notices.push_back({std::max(out[i].time - before, trace.begin), true, {}, out[i].removed});
  out.insert(out.end(), notices.begin(), notices.end());
  std::stable_sort(out.begin() + 1, out.end(),
                   [](const Moment& a, const Moment& b) { return a.time < b.time; });
  return out;
}

}  // namespace nereus::simulate
