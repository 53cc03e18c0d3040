#include "simulate/job/availability_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"

namespace nereus::simulate {

namespace {

constexpr double kLongest = 10 * 366 * 86400.0;  // seconds that are played
constexpr int kMostNodes = 100'000;
constexpr std::int64_t kMostEvents = 1'000'000;

struct Line {
  int number = 0;
  std::vector<std::string> cells;
  std::string text;
};

std::string trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> out;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Line line{++number, {}, trimmed(text.substr(0, end))};
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.text.empty() || line.text.front() == '#') continue;
    std::string_view rest = line.text;
    while (true) {
      const std::size_t comma = rest.find(',');
      line.cells.push_back(trimmed(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() ||
      !std::isfinite(value))
    return std::nullopt;
  return value;
}

// Gathers events or numbers, whatever the form, with errors at their place.
class Builder {
 public:
  explicit Builder(std::string file) : file_(std::move(file)) {}

  [[noreturn]] void fail(const Line& line, const std::string& what, const std::string& hint) const {
    throw_input_error("availability.value", what, {file_, line.number, 1, line.text}, hint);
  }
  double time(const Line& line, const std::string& text, double unit) const {
    const std::optional<double> value = number_of(text);
    if (!value || *value < 0 || *value * unit > kLongest)
      fail(line, fmt::format("'{}' is no time", text), "a number from 0 to ten years");
    return *value * unit;
  }
  int count(const Line& line, const std::string& text) const {
    const std::optional<double> value = number_of(text);
    if (!value || *value < 0 || *value > kMostNodes || *value != std::floor(*value))
      fail(line, fmt::format("'{}' is no number of machines", text),
           fmt::format("a whole number from 0 to {}", kMostNodes));
    return static_cast<int>(*value);
  }
  void event(const Line& line, double time, const std::string& word, const std::string& node) {
    if (word != "add" && word != "remove")
      fail(line, fmt::format("'{}' is no event", word), "add or remove");
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
    trace_.events.push_back({time, at->second, added});
  }
  void step(double time, int count) { steps_.push_back({time, count}); }
  void end(double time) { end_ = std::max(end_, time); }

  Availability finish(const std::string& name) {
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

 private:
  std::string file_;
  Availability trace_;
  std::map<std::string, int> index_;
  std::vector<bool> there_;
  std::vector<CountStep> steps_;
  double end_ = 0;
};

void read_parcae(const std::vector<Line>& lines, Builder& builder) {
  for (const Line& line : lines) {
    const nlohmann::json row = nlohmann::json::parse(line.text, nullptr, false);
    if (!row.is_array() || row.size() != 3 || !row[0].is_number() || !row[1].is_string() ||
        !row[2].is_object())
      builder.fail(line, "no interval", R"([60000, "remove", {"nodes": ["node-3"]}])");
    const double time = builder.time(line, fmt::format("{}", row[0].get<double>()), 1e-3);
    const std::string what = row[1];
    if (what == "add" || what == "remove") {
      if (!row[2].contains("nodes") || !row[2]["nodes"].is_array())
        builder.fail(line, "no nodes", R"("nodes": ["node-3"])");
      for (const auto& node : row[2]["nodes"]) {
        if (!node.is_string()) builder.fail(line, "a node without a name", R"("node-3")");
        builder.event(line, time, what, node);
      }
    } else if (what != "no-op" && what != "migration") {
      builder.fail(line, fmt::format("'{}' is no event", what), "add, remove, no-op or migration");
    }
    const double lasts = row[2].contains("duration") && row[2]["duration"].is_number()
                             ? row[2]["duration"].get<double>() * 1e-3
                             : 0;
    builder.end(time + std::clamp(lasts, 0.0, kLongest));
  }
}

void read_sailor(const nlohmann::json& rows, const std::string& file, Builder& builder) {
  int number = 0;
  for (const auto& row : rows) {
    const Line line{0, {}, fmt::format("row {}", ++number)};
    if (!row.is_object() || !row.contains("Time") || !row.contains("GPUs") ||
        !row["Time"].is_number() || !row["GPUs"].is_number())
      throw_input_error("availability.value", fmt::format("row {} has no Time and GPUs", number),
                        {file, 0, 0}, R"({"Time": 63, "GPUs": 4})");
    builder.step(builder.time(line, fmt::format("{}", row["Time"].get<double>()), 1),
                 builder.count(line, fmt::format("{}", row["GPUs"].get<double>())));
  }
}

// Seconds of a date and a time of day, days from 1970 by the civil calendar (Hinnant).
double moment(const Line& line, const Builder& builder) {
  int y = 0, m = 0, d = 0, hour = 0, minute = 0, second = 0;
  char more = 0;
  const std::string& date = line.cells[0];
  const std::string& time = line.cells[1];
  if (std::sscanf(date.c_str(), "%4d-%2d-%2d%c", &y, &m, &d, &more) != 3 ||
      std::sscanf(time.c_str(), "%2d:%2d:%2d%c", &hour, &minute, &second, &more) != 3 || y < 1970 ||
      m < 1 || m > 12 || d < 1 || d > 31 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 60)
    builder.fail(line, fmt::format("'{}, {}' is no date and time", date, time),
                 "2021-12-11, 11:11:30, 55");
  y -= m <= 2;
  const int era = y / 400;
  const int of_era = y - era * 400;
  const int of_year = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  const int day = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
  return (era * 146097.0 + day) * 86400.0 + hour * 3600 + minute * 60 + second;
}

double scale_of(CountUnit unit) {
  return unit == CountUnit::kHours ? 3600 : unit == CountUnit::kMilliseconds ? 1e-3 : 1;
}

void read_lines(std::vector<Line> lines, const std::string& file, CountUnit unit,
                Builder& builder) {
  const std::vector<std::string>& first = lines.front().cells;
  double scale = 1e-3;  // of events without a header: Bamboo's milliseconds
  if (!number_of(first[0]) && first.size() >= 2 && first[0].find('-') == std::string::npos) {
    const std::map<std::string, CountUnit> units = {{"seconds", CountUnit::kSeconds},
                                                    {"milliseconds", CountUnit::kMilliseconds},
                                                    {"hours", CountUnit::kHours}};
    const auto found = units.find(first[0]);
    const bool events = first.size() == 3 && first[1] == "event" && first[2] == "node";
    const bool counts = first.size() == 2 && first[1] == "machines";
    if (found == units.end() || (!events && !counts))
      builder.fail(lines.front(), fmt::format("'{}' is no header", lines.front().text),
                   "seconds,event,node or seconds,machines (or milliseconds, hours)");
    unit = found->second;
    scale = scale_of(unit);
    lines.erase(lines.begin());
  }
  double date_begin = -1;
  for (const Line& line : lines) {
    const std::size_t size = line.cells.size();
    if (size == 3 && line.cells[0].find('-', 1) != std::string::npos) {
      const double at = moment(line, builder);
      if (date_begin < 0) date_begin = at;
      if (at < date_begin || at - date_begin > kLongest)
        builder.fail(line, "before the first row, or years after it", "rows of one trace");
      builder.step(at - date_begin, builder.count(line, line.cells[2]));
    } else if (size == 3) {
      builder.event(line, builder.time(line, line.cells[0], scale), line.cells[1], line.cells[2]);
    } else if (size == 2) {
      if (unit == CountUnit::kUnknown)
        throw_input_error("availability.unit", "numbers of machines at times of no unit",
                          {file, line.number, 1, line.text},
                          "hours:FILE, seconds:FILE or milliseconds:FILE, or a header "
                          "hours,machines");
      builder.step(builder.time(line, line.cells[0], scale_of(unit)),
                   builder.count(line, line.cells[1]));
    } else {
      builder.fail(line, fmt::format("{} cells", size), "0,add,node1 or 0,30");
    }
  }
}

std::optional<std::string> text_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (file) {
    std::ostringstream text;
    text << file.rdbuf();
    if (file && !text.str().empty()) return text.str();
  }
  for (const EmbeddedFile& own : embedded_files())
    if (own.path == "traces/" + name) return std::string(own.text);
  return std::nullopt;
}

}  // namespace

Availability parse_availability(std::string_view text, const std::string& file, CountUnit unit) {
  Builder builder(file);
  const std::vector<Line> lines = lines_of(text);
  if (lines.empty())
    throw_input_error("availability.empty", "nothing in it", {file, 0, 0},
                      "a header seconds,event,node and rows such as 0,add,node1");
  if (lines.front().text.front() == '[') {
    const nlohmann::json whole_text = nlohmann::json::parse(text, nullptr, false);
    if (whole_text.is_array() && !whole_text.empty() && whole_text.front().is_object())
      read_sailor(whole_text, file, builder);
    else
      read_parcae(lines, builder);
  } else {
    read_lines(lines, file, unit, builder);
  }
  return builder.finish(file);
}

std::vector<std::string> known_traces() {
  std::vector<std::string> names;
  for (const EmbeddedFile& own : embedded_files())
    if (own.path.starts_with("traces/") && !own.path.ends_with("LICENSE.txt") &&
        !own.path.ends_with(".md"))
      names.emplace_back(own.path.substr(7));
  return names;
}

Availability read_availability(const std::string& what, std::uint64_t seed) {
  if (what.starts_with("regular:") || what.starts_with("poisson:"))
    return generated_availability(what, seed);
  std::string name = what;
  CountUnit unit = CountUnit::kUnknown;
  for (const auto& [prefix, own] :
       {std::pair("hours:", CountUnit::kHours), std::pair("seconds:", CountUnit::kSeconds),
        std::pair("milliseconds:", CountUnit::kMilliseconds)})
    if (what.starts_with(prefix)) {
      name = what.substr(std::string_view(prefix).size());
      unit = own;
    }
  const std::optional<std::string> text = text_of(name);
  if (!text) {
    const std::optional<std::string> near = nearest(name, known_traces());
    throw_input_error("availability.file", fmt::format("no file and no trace '{}'", name), {},
                      near ? "did you mean " + *near
                           : fmt::format("a file, or one of {}", fmt::join(known_traces(), ", ")));
  }
  return parse_availability(*text, name, unit);
}

}  // namespace nereus::simulate
