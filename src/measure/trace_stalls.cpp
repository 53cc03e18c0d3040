#include "measure/trace_stalls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/format.hpp"

namespace nereus::measure {

namespace {

using Spans = std::vector<Span>;  // in order, and apart from each other where they are united

Spans united(Spans spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  Spans result;
  for (const Span& span : spans)
    if (!result.empty() && span.begin <= result.back().end)
      result.back().end = std::max(result.back().end, span.end);
    else
      result.push_back(span);
  return result;
}

// The parts of a trace, each without those before it.
class Timeline {
 public:
  explicit Timeline(const Trace& trace) : trace_(trace) {
    work_ = united(trace.work);
    const Spans loading = united(trace.loading);
    // A loader in this process also computes (it stacks samples), but the step waits for it
    // nevertheless.
    if (!trace.on_gpu) loading_ = loading;
    Spans taken = with(work_, loading_);
    collectives_ = without(united(trace.collectives), taken);
    taken = with(taken, collectives_);
    copies_ = without(united(trace.copies), taken);
    taken = with(taken, copies_);
    if (trace.on_gpu) {
      loading_ = without(loading, taken);
      taken = with(taken, loading_);
      busy_ = taken;
    }
  }
  struct Step {
    double length = 0, collective = 0, copy = 0, loading = 0, idle = 0;
    double own() const { return length - collective - copy - loading; }
  };
  Step step(std::int64_t number) const {
    const Span span = trace_.steps.at(number);
    Step step;
    step.length = seconds(span.end - span.begin);
    step.collective = within(collectives_, span);
    step.copy = within(copies_, span);
    step.loading = within(loading_, span);
    if (trace_.on_gpu) step.idle = step.length - within(busy_, span);
    return step;
  }

 private:
  static double seconds(std::int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) * 1e-9;
  }
  static Spans with(const Spans& a, const Spans& b) {
    Spans all = a;
    all.insert(all.end(), b.begin(), b.end());
    return united(std::move(all));
  }
  static Spans without(const Spans& spans, const Spans& taken) {
    Spans result;
    auto at = taken.begin();
    for (Span span : spans) {
      while (at != taken.end() && at->end <= span.begin) ++at;
      for (auto next = at; next != taken.end() && next->begin < span.end; ++next) {
        if (next->begin > span.begin) result.push_back({span.begin, next->begin});
        span.begin = std::max(span.begin, next->end);
        if (span.begin >= span.end) break;
      }
      if (span.begin < span.end) result.push_back(span);
    }
    return result;
  }
  static double within(const Spans& spans, const Span& of) {
    auto at =
        std::lower_bound(spans.begin(), spans.end(), of.begin,
                         [](const Span& span, std::int64_t time) { return span.end <= time; });
    std::int64_t sum = 0;
    for (; at != spans.end() && at->begin < of.end; ++at)
      sum += std::min(at->end, of.end) - std::max(at->begin, of.begin);
    return seconds(sum);
  }

  const Trace& trace_;
  Spans work_, collectives_, copies_, loading_, busy_;
};

std::vector<std::int64_t> common_steps(const std::vector<Trace>& traces) {
  for (const Trace& trace : traces)
    if (trace.steps.empty())
      throw_input_error("measure.trace-steps", "the trace has no steps (ProfilerStep#N)",
                        {trace.file}, "profiler.step() after each step of the script's loop");
  std::vector<std::int64_t> numbers;
  for (const auto& entry : traces.front().steps) {
    const std::int64_t number = entry.first;
    if (std::all_of(traces.begin(), traces.end(),
                    [&](const Trace& trace) { return trace.steps.count(number) > 0; }))
      numbers.push_back(number);
  }
  if (numbers.size() < 2)
    throw_input_error(
        "measure.trace-steps",
        fmt::format("{} in {}; an interval needs at least two", counted(numbers.size(), "step"),
                    traces.size() == 1 ? "the trace" : "all of the traces"),
        {traces.front().file}, "schedule(wait=2, warmup=2, active=10), the same on all ranks");
  return numbers;
}

std::string why_not(StallKind kind, bool one_of_several, int num_ranks, bool on_gpu) {
  switch (kind) {
    case StallKind::kLaunch:
      return on_gpu ? "" : "not visible in CPU traces";
    case StallKind::kContention:
      return num_ranks == 1 ? "one rank" : "not visible in traces, because no rank runs alone";
    case StallKind::kStraggler:
      return num_ranks == 1   ? "one rank"
             : one_of_several ? "traces of other ranks are missing"
                              : "";
    case StallKind::kInterconnect:
      return num_ranks == 1 ? "one rank" : "";
    case StallKind::kNetwork:
      return num_ranks == 1 ? "one rank" : "counted as interconnect, because hosts are unknown";
    case StallKind::kHostCopy:
      return on_gpu ? "" : "ranks compute in host memory";
    case StallKind::kPrepare:
      return "no torch DataLoader in the trace";
    case StallKind::kFetch:
      return "not visible in traces; counted as preparing";
  }
  return {};
}

// Largest, over ranks, of what `of` says of a step.
template <class Of>
double largest(const std::vector<Timeline::Step>& ranks, Of of) {
  double most = of(ranks.front());
  for (const Timeline::Step& rank : ranks) most = std::max(most, of(rank));
  return most;
}

}  // namespace

StallReport stalls_of(const std::vector<Trace>& traces) {
  using Step = Timeline::Step;
  const std::vector<std::int64_t> numbers = common_steps(traces);
  std::vector<Timeline> timelines(traces.begin(), traces.end());
  StallReport report;
  int stated = 0;
  bool on_gpu = false, loads = false, communicates = false;
  for (const Trace& trace : traces) {
    stated = std::max(stated, trace.num_ranks);
    on_gpu |= trace.on_gpu;
    loads |= !trace.loading.empty();
    communicates |= !trace.collectives.empty();  // a lone rank may, with itself
  }
  report.num_ranks = std::max(stated, static_cast<int>(traces.size()));
  const bool all = report.num_ranks == static_cast<int>(traces.size());
  report.rounds = static_cast<int>(numbers.size());
  report.num_hosts = 0;  // not known
  // The rank whose own work is the median one's, over all steps.
  std::vector<std::vector<Step>> steps;
  std::vector<double> own(traces.size());
  for (const std::int64_t number : numbers) {
    steps.emplace_back();
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
      steps.back().push_back(timelines[rank].step(number));
      own[rank] += steps.back().back().own();
    }
  }
  std::vector<std::size_t> order(traces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return own[a] < own[b]; });
  const std::size_t median = order[(order.size() - 1) / 2];

  Causes causes;
  for (const std::vector<Step>& ranks : steps) {
    const double worked = largest(ranks, [](const Step& s) { return s.own(); });
    const double copied = largest(ranks, [](const Step& s) { return s.own() + s.copy; });
    const double loaded = largest(ranks, [](const Step& s) { return s.length - s.collective; });
    const double length = largest(ranks, [](const Step& s) { return s.length; });
    if (on_gpu) causes[StallKind::kLaunch].push_back(ranks[median].idle);
    if (all && traces.size() > 1)
      causes[StallKind::kStraggler].push_back(worked - ranks[median].own());
    if (report.num_ranks > 1 || communicates)
      causes[StallKind::kInterconnect].push_back(length - loaded);
    if (on_gpu) causes[StallKind::kHostCopy].push_back(copied - worked);
    if (loads) causes[StallKind::kPrepare].push_back(loaded - copied);
    const auto n = static_cast<double>(steps.size());
    report.step_s += length / n;
    report.alone_s += ranks[median].own() / n;
    report.at_hand_s += (length - (loaded - worked)) / n;
  }
  report.warm_s = report.step_s;
  set_stalls(report, causes,
             [&](StallKind kind) { return why_not(kind, !all, report.num_ranks, on_gpu); });
  if (all && traces.size() > 1)
    report.stalls[static_cast<std::size_t>(StallKind::kStraggler)].rank = traces[order.back()].rank;
  if (report.num_ranks > 1)
    report.notes.push_back("contention between ranks is counted as one device's work");
  if (!all)
    report.notes.push_back(
        fmt::format("traces cover {} of {} ranks, so waiting for a slower rank counts as "
                    "interconnect",
                    traces.size(), report.num_ranks));
  return report;
}

}  // namespace nereus::measure
