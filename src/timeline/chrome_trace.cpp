#include "timeline/chrome_trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace nereus::timeline {

namespace {

std::string json_text(const std::string& text) { return nlohmann::json(text).dump(); }

// Picoseconds as microseconds, exactly.
std::string microseconds(std::int64_t ps) {
  return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
}

}  // namespace

std::string chrome_trace(const Timeline& timeline) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  bool first = true;
  const auto add = [&](const std::string& event) {
    if (!first) text += ",\n";
    first = false;
    text += event;
  };
  int last_process = -1;
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    const Lane& lane = timeline.lanes[i];
    if (lane.process != last_process)
      add(
          fmt::format("{{\"ph\":\"M\",\"pid\":{},\"tid\":0,\"name\":\"process_name\",\"args\":{{"
                      "\"name\":{}}}}}",
                      lane.process, json_text(lane.process_name)));
    last_process = lane.process;
    add(fmt::format(
        "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}",
        lane.process, i, json_text(lane.name)));
  }
  for (const Slice& slice : timeline.slices) {
    const Lane& lane = timeline.lanes[static_cast<std::size_t>(slice.lane)];
    std::string name(to_string(slice.kind));
    std::string args;
    if (slice.micro_batch >= 0) {
      name += fmt::format(" {}", slice.micro_batch);
      args = fmt::format("\"micro_batch\":{},\"stage\":{}", slice.micro_batch, slice.stage);
    }
    add(fmt::format(
        "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},"
        "\"cat\":{},\"args\":{{{}}}}}",
        lane.process, slice.lane, microseconds(slice.start), microseconds(slice.end - slice.start),
        json_text(name), json_text(std::string(to_string(slice.kind))), args));
  }
  return text + "\n]}\n";
}

}  // namespace nereus::timeline
