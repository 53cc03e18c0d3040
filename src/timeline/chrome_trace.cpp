#include "timeline/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "base/gzip.hpp"
#include "base/write_file.hpp"

namespace nereus::timeline {

namespace {

constexpr std::int64_t kNanosecond = 1'000;
constexpr std::int64_t kMicrosecond = 1'000'000;

// Appends JSON to one text; no tree, so that millions of slices take about a second.
class Writer {
 public:
  Writer(const Timeline& timeline, const TraceOptions& options)
      : timeline_(timeline), options_(options) {
    text_.reserve(200 * timeline.slices.size() + 300 * timeline.flows.size() + 4096);
  }

  std::string run() {
    text_ = "{\"displayTimeUnit\":\"ms\",";
    distributed_info();
    text_ += "\"traceEvents\":[\n";
    for (std::size_t i = 0; i < timeline_.lanes.size(); ++i) name_lane(i);
    marks();
    for (const Slice& slice : timeline_.slices) write(slice);
    for (const Counter& counter : timeline_.counters) write(counter);
    if (!timeline_.flows.empty()) flows();
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  void put(std::string_view text) { text_ += text; }
  void put(std::int64_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text_.append(digits.data(), end);
  }
  void put_number(double value) {
#ifdef __cpp_lib_to_chars
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text_.append(digits.data(), end);
#else
    fmt::format_to(std::back_inserter(text_), "{}", value);
#endif
  }
  void put_string(std::string_view text) {
    text_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        constexpr std::string_view kHex = "0123456789abcdef";
        text_ += "\\u00";
        text_ += kHex[static_cast<unsigned char>(c) >> 4];
        text_ += kHex[static_cast<unsigned char>(c) & 15];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  // Picoseconds as they will be read: on the grid of nanoseconds unless all digits are asked for.
  std::int64_t rounded(std::int64_t ps) const {
    return options_.exact ? ps : (ps + kNanosecond / 2) / kNanosecond * kNanosecond;
  }
  void put_microseconds(std::int64_t ps) {
    put(ps / kMicrosecond);
    text_ += '.';
    std::int64_t rest = options_.exact ? ps % kMicrosecond : ps % kMicrosecond / kNanosecond;
    std::array<char, 6> digits{};
    const int count = options_.exact ? 6 : 3;
    for (int i = count; i-- > 0; rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
    text_.append(digits.data(), static_cast<std::size_t>(count));
  }

  void begin(char phase, int process, std::int64_t thread) {
    if (!first_) text_ += ",\n";
    first_ = false;
    put("{\"ph\":\"");
    text_ += phase;
    put("\",\"pid\":");
    put(std::int64_t{process});
    put(",\"tid\":");
    put(thread);
  }
  void times(std::int64_t start, std::int64_t end) {
    put(",\"ts\":");
    put_microseconds(rounded(start));
    put(",\"dur\":");
    put_microseconds(rounded(end) - rounded(start));
  }

  void distributed_info() {
    if (timeline_.num_ranks <= 0 || timeline_.lanes.empty()) return;
    const int rank = timeline_.lanes.front().process;
    if (timeline_.lanes.back().process != rank) return;
    put("\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":");
    put(std::int64_t{rank});
    put(",\"world_size\":");
    put(std::int64_t{timeline_.num_ranks});
    put("},\"schemaVersion\":1,");
  }

  // Lanes count from 1, because some readers treat thread 0 as Linux's idle thread, and are
  // numbered across all processes, because Perfetto names threads only by their number.
  static std::int64_t thread_of(std::size_t lane) { return static_cast<std::int64_t>(lane) + 1; }

  void metadata(std::string_view what, int process, std::int64_t thread, std::string_view name) {
    begin('M', process, thread);
    put(",\"name\":\"");
    put(what);
    put("\",\"args\":{\"name\":");
    put_string(name);
    put("}}");
  }
  void sort_index(std::string_view what, int process, std::int64_t thread, std::int64_t index) {
    begin('M', process, thread);
    put(",\"name\":\"");
    put(what);
    put("\",\"args\":{\"sort_index\":");
    put(index);
    put("}}");
  }
  void name_lane(std::size_t i) {
    const Lane& lane = timeline_.lanes[i];
    if (i == 0 || timeline_.lanes[i - 1].process != lane.process) {
      metadata("process_name", lane.process, thread_of(i), lane.process_name);
      sort_index("process_sort_index", lane.process, thread_of(i), lane.process);
    }
    metadata("thread_name", lane.process, thread_of(i), lane.name);
    sort_index("thread_sort_index", lane.process, thread_of(i), static_cast<std::int64_t>(i));
  }

  // A lane above the others of every process that has marks.
  void marks() {
    std::set<int> processes;
    for (const Lane& lane : timeline_.lanes) processes.insert(lane.process);
    std::int64_t thread = thread_of(timeline_.lanes.size());
    for (const int process : processes) {
      bool named = false;
      for (const Mark& mark : timeline_.marks) {
        if (mark.process != -1 && mark.process != process) continue;
        if (!named) {
          metadata("thread_name", process, thread, "steps");
          sort_index("thread_sort_index", process, thread, -1);
          named = true;
        }
        begin('X', process, thread);
        times(mark.start, mark.end);
        put(",\"name\":");
        put_string(mark.name);
        put(",\"cat\":\"user_annotation\",\"args\":{}}");
      }
      if (named) ++thread;
    }
  }

  static bool collective(SliceKind kind) {
    switch (kind) {
      case SliceKind::kSend:
      case SliceKind::kReceive:
      case SliceKind::kReduce:
      case SliceKind::kTensor:
      case SliceKind::kContext:
      case SliceKind::kExpert:
      case SliceKind::kGather:
        return true;
      default:
        return false;
    }
  }
  std::string_view category(SliceKind kind) const {
    if (!options_.kineto) return to_string(kind);
    if (kind == SliceKind::kCopy) return "gpu_memcpy";
    return kind == SliceKind::kWait || kind == SliceKind::kHost ? "user_annotation" : "kernel";
  }

  void write(const Slice& slice) {
    const auto lane = static_cast<std::size_t>(slice.lane);
    begin('X', timeline_.lanes[lane].process, thread_of(lane));
    times(slice.start, slice.end);
    put(",\"name\":\"");
    if (options_.kineto && collective(slice.kind)) put("ncclKernel_");
    if (options_.kineto && slice.kind == SliceKind::kCopy) put("Memcpy ");
    put(to_string(slice.kind));
    if (slice.micro_batch >= 0) {
      text_ += ' ';
      put(std::int64_t{slice.micro_batch});
    }
    put("\",\"cat\":\"");
    put(category(slice.kind));
    put("\",\"args\":{");
    const std::size_t open = text_.size();
    const auto add = [&](std::string_view key, std::int64_t value) {
      if (text_.size() > open) text_ += ',';
      put(key);
      put(value);
    };
    if (options_.kineto) add("\"stream\":", thread_of(lane));
    if (slice.micro_batch >= 0) add("\"micro_batch\":", slice.micro_batch);
    if (slice.stage >= 0) add("\"stage\":", slice.stage);
    put("}}");
  }

  void write(const Counter& counter) {
    for (const Sample& sample : counter.samples) {
      begin('C', counter.process, 0);
      put(",\"ts\":");
      put_microseconds(rounded(sample.time));
      put(",\"name\":");
      put_string(counter.name);
      put(",\"args\":{");
      put_string(counter.unit.empty() ? "value" : counter.unit);
      text_ += ':';
      put_number(sample.value);
      put("}}");
    }
  }

  // The slice that a flow leaves (the one that ends last at its time) or reaches (the first one
  // that has not ended), and the time inside it.
  std::int64_t bound(const std::vector<std::size_t>& lane, std::int64_t time, bool leaves) const {
    const auto& slices = timeline_.slices;
    auto at = std::partition_point(lane.begin(), lane.end(), [&](std::size_t i) {
      return leaves ? slices[i].end < time : slices[i].end <= time;
    });
    if (at == lane.end() || slices[*at].start > time) --at;  // only touches the one before
    const std::int64_t start = rounded(slices[*at].start);
    const std::int64_t end = rounded(slices[*at].end);
    return std::clamp(rounded(time), start, std::max(start, end - kNanosecond));
  }

  void flow_end(const Flow& flow, char phase, std::int64_t time) {
    const auto lane = static_cast<std::size_t>(phase == 's' ? flow.from_lane : flow.to_lane);
    begin(phase, timeline_.lanes[lane].process, thread_of(lane));
    put(",\"ts\":");
    put_microseconds(time);
    put(",\"id\":");
    put(flow.id);
    put(",\"cat\":\"flow\",\"name\":");
    put_string(flow.name);
    put(phase == 's' ? "}" : ",\"bp\":\"e\"}");
  }
  void flows() {
    const auto lanes = slices_by_lane(timeline_);
    for (const Flow& flow : timeline_.flows) {
      const std::int64_t from = bound(lanes[flow.from_lane], flow.from_time, true);
      const std::int64_t to = bound(lanes[flow.to_lane], flow.to_time, false);
      flow_end(flow, 's', from);
      flow_end(flow, 'f', std::max(from, to));
    }
  }

  const Timeline& timeline_;
  const TraceOptions& options_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string chrome_trace(const Timeline& timeline, const TraceOptions& options) {
  return Writer(timeline, options).run();
}

void write_chrome_trace(const std::string& path, const Timeline& timeline,
                        const TraceOptions& options) {
  const std::string text = chrome_trace(timeline, options);
  write_file(path, path.ends_with(".gz") ? gzip(text) : text);
}

}  // namespace nereus::timeline
