#include "simulate/job/availability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/random.hpp"

namespace nereus::simulate {

AvailabilitySummary summary_of(const Availability& trace) {
  AvailabilitySummary out;
  int count = 0;
  double sum = 0, before = trace.begin;
  bool first = true;
  for (std::size_t i = 0; i < trace.events.size();) {
    const double time = trace.events[i].time;
    sum += count * (time - before);
    before = time;
    for (; i < trace.events.size() && trace.events[i].time == time; ++i) {
      count += trace.events[i].added ? 1 : -1;
      ++(trace.events[i].added ? out.added : out.removed);
    }
    out.least = first ? count : std::min(out.least, count);
    out.most = std::max(out.most, count);
    out.changes += first ? 0 : 1;
    first = false;
  }
  sum += count * (trace.end - before);
  out.node_hours = sum / 3600;
  out.mean = trace.duration() > 0 ? sum / trace.duration() : count;
  return out;
}

std::string first_fault(const Availability& trace) {
  std::vector<bool> there(trace.nodes.size());
  double before = trace.begin;
  for (const AvailabilityEvent& event : trace.events) {
    if (event.node < 0 || event.node >= static_cast<int>(trace.nodes.size()))
      return fmt::format("event at {} s names no node", event.time);
    if (!(event.time >= before) || !(event.time <= trace.end))
      return fmt::format("event at {} s is out of order", event.time);
    const auto node = static_cast<std::size_t>(event.node);
    if (there[node] == event.added)
      return fmt::format("{} {} at {} s", trace.nodes[node],
                         event.added ? "comes though it is there" : "goes though it is away",
                         event.time);
    there[node] = event.added;
    before = event.time;
  }
  return "";
}

Availability from_counts(std::string name, const std::vector<CountStep>& steps, double end) {
  Availability out;
  out.name = std::move(name);
  Random random(1);
  std::vector<int> there;
  bool guessed = false;
  for (const CountStep& step : steps) {
    while (static_cast<int>(there.size()) < step.count) {
      there.push_back(static_cast<int>(out.nodes.size()));
      out.nodes.push_back(fmt::format("node{}", out.nodes.size() + 1));
      out.events.push_back({step.time, there.back(), true});
    }
    while (static_cast<int>(there.size()) > step.count) {
      guessed |= there.size() > 1;
      std::swap(there[random.below(there.size())], there.back());
      out.events.push_back({step.time, there.back(), false});
      there.pop_back();
    }
  }
  out.begin = steps.empty() ? 0 : steps.front().time;
  out.end = std::max(end, steps.empty() ? 0 : steps.back().time);
  if (guessed)
    out.notes.emplace_back("the trace has numbers of machines: which one goes is drawn evenly");
  return out;
}

Availability regular_failures(int most, int least, double period) {
  Availability out;
  out.name = fmt::format("one of {} machines every {:g} s, down to {}", most, period, least);
  for (int i = 0; i < most; ++i) {
    out.nodes.push_back(fmt::format("node{}", i + 1));
    out.events.push_back({0, i, true});
  }
  for (int gone = 1; gone <= most - least; ++gone)
    out.events.push_back({gone * period, most - gone, false});
  out.end = (most - least) * period;
  return out;
}

Availability poisson_failures(const PoissonFailures& wanted) {
  Availability out;
  out.name = fmt::format("{}, each failing every {:g} h", counted(wanted.nodes, "node"),
                         wanted.mean_time_between_failures / 3600);
  out.end = wanted.duration;
  const Random all(wanted.seed);
  for (int node = 0; node < wanted.nodes; ++node) {
    out.nodes.push_back(fmt::format("node{}", node + 1));
    out.events.push_back({0, node, true});
    Random own = all.stream(static_cast<std::uint64_t>(node));
    double time = 0;
    while (true) {
      // 1 - u is above 0.
      time -= wanted.mean_time_between_failures * std::log(1 - own.uniform());
      if (!(time < wanted.duration)) break;
      out.events.push_back({time, node, false});
      time += wanted.repair;
      if (!(time < wanted.duration)) break;
      out.events.push_back({time, node, true});
    }
  }
  std::stable_sort(out.events.begin(), out.events.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  return out;
}

Availability cut(Availability trace, double duration) {
  const double end = trace.begin + duration;
  if (end >= trace.end) return trace;
  std::erase_if(trace.events, [&](const AvailabilityEvent& event) { return event.time > end; });
  trace.end = end;
  return trace;
}

}  // namespace nereus::simulate
