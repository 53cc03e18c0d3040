#include "timeline/check_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/gzip.hpp"
#include "timeline/read_trace.hpp"

namespace nereus::timeline {

namespace {

constexpr std::string_view kPhases = "BEXiIRCstfbenM";

class Checker {
 public:
  Checker(const ReadTrace& trace, TraceCheck& out) : trace_(trace), out_(out) {}

  void run() {
    for (const std::string& fault : trace_.faults) complain(fault);
    for (const TraceEvent& event : trace_.events) check_alone(event);
    for (const auto& entry : threads_) check_thread(entry.first, entry.second);
    for (const auto& [key, ends] : flows_) check_flow(key, ends);
    check_names();
    out_.num_processes = static_cast<int>(processes_.size());
    out_.num_threads = static_cast<int>(threads_.size());
    if (last_ > first_) out_.seconds = static_cast<double>(last_ - first_) * 1e-9;
  }

 private:
  struct ThreadKey {
    std::int64_t process = 0;
    std::int64_t thread = 0;
    auto operator<=>(const ThreadKey&) const = default;
  };
  struct FlowEnds {
    std::vector<const TraceEvent*> starts, ends;
  };
  struct Open {
    std::int64_t start = 0;
    std::int64_t end = 0;  // kOpen where an E is to come
    const TraceEvent* event = nullptr;
  };
  static constexpr std::int64_t kOpen = INT64_MAX;

  void complain(std::string fault) {
    ++out_.num_faults;
    if (out_.faults.size() < kMostFaults) out_.faults.push_back(std::move(fault));
  }
  void complain(const TraceEvent& event, std::string_view what) {
    complain(fmt::format("event {} ({} \"{}\"): {}", event.index,
                         event.phase != 0 ? std::string(1, event.phase) : "?",
                         trace_.names[event.name], what));
  }

  void check_alone(const TraceEvent& event) {
    if (event.phase == 0 || kPhases.find(event.phase) == std::string_view::npos)
      return complain(event, "ph is no phase that Perfetto reads");
    if (event.phase == 'M') return note_name(event);
    if (event.start == kNoTime) return complain(event, "it has no time ts");
    if (event.start < 0) return complain(event, "its time is negative");
    first_ = std::min(first_, event.start);
    last_ = std::max(last_, event.start);
    switch (event.phase) {
      case 'X':
        if (event.duration == kNoTime) return complain(event, "it has no duration dur");
        if (event.duration < 0) return complain(event, "its duration is negative");
        last_ = std::max(last_, event.start + event.duration);
        ++out_.num_slices;
        break;
      case 'B':
        ++out_.num_slices;
        break;
      case 'C':
        ++out_.num_samples;
        if (!event.has_args || event.num_numbers == 0)
          complain(event, "a counter without a number in args");
        else if (event.num_others > 0)
          complain(event, "a counter with something in args that is no number");
        return;
      case 's':
      case 'f':
      case 't':
        if (event.flow < 0) return complain(event, "a flow without an id");
        if (event.phase == 's') flows_[event.flow].starts.push_back(&event);
        if (event.phase == 'f') flows_[event.flow].ends.push_back(&event);
        break;
      case 'E':
        break;
      default:
        return;
    }
    threads_[{event.process, event.thread}].push_back(&event);
  }

  void note_name(const TraceEvent& event) {
    const std::string& name = trace_.names[event.name];
    if (name != "process_name" && name != "thread_name") return;
    if (event.label < 0) return complain(event, "metadata without a name in args");
    if (name == "process_name") named_processes_.insert(event.process);
    if (name == "thread_name") named_threads_.insert({event.process, event.thread});
  }

  // Slices of one thread sorted by time, then by order in the file, like in the trace processor.
  void check_thread(const ThreadKey& key, std::vector<const TraceEvent*> events) {
    std::stable_sort(events.begin(), events.end(),
                     [](const TraceEvent* a, const TraceEvent* b) { return a->start < b->start; });
    std::vector<Open> stack;
    std::vector<const TraceEvent*> waiting;  // ends of flows that bind to the next slice
    bool has_slices = false;
    for (const TraceEvent* event : events) {
      if (event->phase == 'X' || event->phase == 'B') {
        has_slices = true;
        waiting.clear();
        push(stack, *event);
      } else if (event->phase == 'E') {
        while (!stack.empty() && stack.back().end <= event->start) stack.pop_back();
        if (stack.empty() || stack.back().end != kOpen)
          complain(*event, "it ends a slice that nothing began");
        else
          stack.pop_back();
      } else if (event->phase == 'f' && !event->binds_enclosing) {
        waiting.push_back(event);
      } else if (stack.empty() || stack.back().end < event->start) {
        // For the trace processor, a slice that ends at this time is still open.
        complain(*event, "a flow touches its thread where no slice is");
      }
    }
    for (const Open& open : stack)
      if (open.end == kOpen) complain(*open.event, "it begins a slice that nothing ends");
    for (const TraceEvent* event : waiting)
      complain(*event, "no slice follows that it could bind to");
    if (has_slices) {
      processes_.insert(key.process);
      slice_threads_.insert(key);
    }
  }

  void push(std::vector<Open>& stack, const TraceEvent& event) {
    const std::int64_t end = event.phase == 'B' ? kOpen : event.start + event.duration;
    while (!stack.empty()) {
      const Open& top = stack.back();
      const bool both_empty = top.start == top.end && event.duration == 0;
      if (top.end < event.start || (top.end == event.start && !both_empty)) {
        stack.pop_back();
        continue;
      }
      if (end > top.end && end != kOpen) {
        complain(event, fmt::format("it starts at {} ns in event {} and ends {} ns after it",
                                    event.start, top.event->index, end - top.end));
        return;  // dropped
      }
      break;
    }
    stack.push_back({event.start, end, &event});
  }

  void check_flow(int key, const FlowEnds& ends) {
    std::string text = trace_.names[key];
    std::replace(text.begin(), text.end(), '\n', ' ');
    out_.num_flows += static_cast<std::int64_t>(std::min(ends.starts.size(), ends.ends.size()));
    if (ends.starts.empty())
      return complain(fmt::format("flow \"{}\" ends and never starts", text));
    if (ends.ends.empty()) return complain(fmt::format("flow \"{}\" starts and never ends", text));
    if (ends.starts.size() > 1)
      return complain(fmt::format("flow \"{}\" starts {} times", text, ends.starts.size()));
    for (const TraceEvent* end : ends.ends)
      if (end->start < ends.starts[0]->start)
        complain(fmt::format("flow \"{}\" ends {} ns before it starts", text,
                             ends.starts[0]->start - end->start));
  }

  void check_names() {
    for (const std::int64_t process : processes_)
      if (process >= 0 && !named_processes_.contains(process))
        complain(fmt::format("process {} has slices and no process_name", process));
    for (const ThreadKey& key : slice_threads_)
      if (key.thread >= 0 && !named_threads_.contains(key))
        complain(fmt::format("thread {} of process {} has slices and no thread_name", key.thread,
                             key.process));
  }

  const ReadTrace& trace_;
  TraceCheck& out_;
  std::map<ThreadKey, std::vector<const TraceEvent*>> threads_;
  std::map<int, FlowEnds> flows_;
  std::set<std::int64_t> processes_, named_processes_;
  std::set<ThreadKey> named_threads_, slice_threads_;
  std::int64_t first_ = INT64_MAX;
  std::int64_t last_ = 0;
};

}  // namespace

TraceCheck check_trace(std::string_view json) {
  TraceCheck out;
  const ReadTrace trace = read_trace(json);
  Checker(trace, out).run();
  return out;
}

TraceCheck check_trace_file(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw_input_error("trace.unreadable", fmt::format("{} is a folder", path), {path},
                      "one of its files");
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad())
    throw_input_error("trace.unreadable", fmt::format("cannot read {}", path), {path},
                      "a trace as JSON, or the same zipped by gzip");
  return check_trace(gunzip_if_zipped(std::move(text)));
}

}  // namespace nereus::timeline
