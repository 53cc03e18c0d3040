#include "simulate/job/availability_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/parse_number.hpp"
#include "base/trimmed.hpp"

namespace nereus::simulate {

namespace {

constexpr int kMostNodes = 100'000;
constexpr std::int64_t kMostEvents = 1'000'000;

}  // namespace

std::vector<TraceLine> trace_lines(std::string_view text) {
  std::vector<TraceLine> out;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    TraceLine line{++number, {}, std::string(trimmed(text.substr(0, end)))};
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.text.empty() || line.text.front() == '#') continue;
    std::string_view rest = line.text;
    while (true) {
      const std::size_t comma = rest.find(',');
      line.cells.emplace_back(trimmed(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::optional<double> trace_number(const std::string& text) {
  const std::optional<double> value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

void AvailabilityBuilder::fail(const TraceLine& line, const std::string& what,
                               const std::string& hint) const {
  throw_input_error("availability.value", what, {file_, line.number, 1, line.text}, hint);
}

double AvailabilityBuilder::time(const TraceLine& line, const std::string& text,
                                 double unit) const {
  const std::optional<double> value = trace_number(text);
  if (!value || *value < 0 || *value * unit > kLongestTrace)
    fail(line, fmt::format("'{}' is no time", text), "a number from 0 to ten years");
  return *value * unit;
}

int AvailabilityBuilder::count(const TraceLine& line, const std::string& text) const {
  const std::optional<double> value = trace_number(text);
  if (!value || *value < 0 || *value > kMostNodes || *value != std::floor(*value))
    fail(line, fmt::format("'{}' is no number of machines", text),
         fmt::format("a whole number from 0 to {}", kMostNodes));
  return static_cast<int>(*value);
}

void AvailabilityBuilder::event(const TraceLine& line, double time, const std::string& word,
                                const std::string& node, std::optional<double> seen) {
  if (word != "add" && word != "remove")
    fail(line, fmt::format("'{}' is no event", word), "add or remove");
  if (seen && word == "add")
    fail(line, "a machine that comes is seen at once", "seen only of what is removed");
  if (!trace_.events.empty() && time < trace_.events.back().time)
    fail(line, fmt::format("{} s comes after {} s", time, trace_.events.back().time),
         "events in order of time");
  const auto [at, fresh] = index_.emplace(node, static_cast<int>(trace_.nodes.size()));
  if (fresh) {
    trace_.nodes.push_back(node);
    there_.push_back(false);
  }
  const auto which = static_cast<std::size_t>(at->second);
  const bool added = word == "add";
  if (there_[which] == added)
    fail(line,
         fmt::format("{} {}", node,
                     added ? "is added though it is there" : "is removed though it is away"),
         "each machine is added, then removed");
  there_[which] = added;
  trace_.events.push_back({time, at->second, added, seen});
}

Availability AvailabilityBuilder::finish(const std::string& name) {
  if (!steps_.empty()) {
    const auto earlier = [](const CountStep& a, const CountStep& b) { return a.time < b.time; };
    const bool sorted = std::is_sorted(steps_.begin(), steps_.end(), earlier);
    std::stable_sort(steps_.begin(), steps_.end(), earlier);
    std::vector<CountStep> last;
    for (const CountStep& own : steps_)
      if (!last.empty() && last.back().time == own.time)
        last.back() = own;
      else
        last.push_back(own);
    std::int64_t changes = 0;
    for (std::size_t i = 0; i < last.size(); ++i)
      changes += std::abs(last[i].count - (i > 0 ? last[i - 1].count : 0));
    if (changes > kMostEvents)
      throw_input_error("availability.too-large", fmt::format("{} machines come and go", changes),
                        {file_, 0, 0}, fmt::format("at most {}", kMostEvents));
    trace_ = from_counts(name, last, std::max(end_, last.back().time));
    if (!sorted)
      trace_.notes.emplace_back("rows out of order were put in order, the last of a time counts");
  } else if (!trace_.events.empty()) {
    trace_.name = name;
    trace_.begin = trace_.events.front().time;
    trace_.end = std::max(end_, trace_.events.back().time);
  }
  if (trace_.events.empty())
    throw_input_error("availability.empty", "no machine is ever there", {file_, 0, 0},
                      "rows such as 0,add,node1 below a header seconds,event,node");
  if (!(trace_.duration() > 0))
    throw_input_error("availability.empty", "the trace takes no time", {file_, 0, 0},
                      "events at more than one time");
  return trace_;
}

}  // namespace nereus::simulate
