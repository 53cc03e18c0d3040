#include "simulate/job/availability_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/format.hpp"

namespace nereus::simulate {

namespace {

void read_parcae(const std::vector<TraceLine>& lines, AvailabilityBuilder& builder) {
  for (const TraceLine& line : lines) {
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
    builder.end(time + std::clamp(lasts, 0.0, kLongestTrace));
  }
}

void read_sailor(const nlohmann::json& rows, const std::string& file,
                 AvailabilityBuilder& builder) {
  int number = 0;
  for (const auto& row : rows) {
    const TraceLine line{0, {}, fmt::format("row {}", ++number)};
    if (!row.is_object() || !row.contains("Time") || !row.contains("GPUs") ||
        !row["Time"].is_number() || !row["GPUs"].is_number())
      throw_input_error("availability.value", fmt::format("row {} has no Time and GPUs", number),
                        {file, 0, 0}, R"({"Time": 63, "GPUs": 4})");
    builder.step(builder.time(line, fmt::format("{}", row["Time"].get<double>()), 1),
                 builder.count(line, fmt::format("{}", row["GPUs"].get<double>())));
  }
}

// Seconds of a date and a time of day, days from 1970 by the civil calendar (Hinnant).
double moment(const TraceLine& line, const AvailabilityBuilder& builder) {
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

// Empty: not known.
std::optional<double> seen_of(const TraceLine& line, double scale,
                              const AvailabilityBuilder& builder) {
  const std::string& text = line.cells[3];
  if (text.empty()) return std::nullopt;
  const std::optional<double> value = trace_number(text);
  if (!value || std::abs(*value) * scale > kLongestTrace)
    builder.fail(line, fmt::format("'{}' is no time until a loss is seen", text),
                 "0 at once, 2 later, -30 known before, nothing: not known");
  return *value * scale;
}

void read_lines(std::vector<TraceLine> lines, const std::string& file, CountUnit unit,
                AvailabilityBuilder& builder) {
  const std::vector<std::string>& first = lines.front().cells;
  double scale = 1e-3;  // of events without a header: Bamboo's milliseconds
  if (!trace_number(first[0]) && first.size() >= 2 && first[0].find('-') == std::string::npos) {
    const std::map<std::string, CountUnit> units = {{"seconds", CountUnit::kSeconds},
                                                    {"milliseconds", CountUnit::kMilliseconds},
                                                    {"hours", CountUnit::kHours}};
    const auto found = units.find(first[0]);
    const bool seen = first.size() == 4 && first[3] == "seen";
    const bool events = (first.size() == 3 || seen) && first[1] == "event" && first[2] == "node";
    const bool counts = first.size() == 2 && first[1] == "machines";
    if (found == units.end() || (!events && !counts))
      builder.fail(lines.front(), fmt::format("'{}' is no header", lines.front().text),
                   "seconds,event,node[,seen] or seconds,machines (or milliseconds, hours)");
    unit = found->second;
    scale = scale_of(unit);
    lines.erase(lines.begin());
  }
  double date_begin = -1;
  for (const TraceLine& line : lines) {
    const std::size_t size = line.cells.size();
    if (size == 3 && line.cells[0].find('-', 1) != std::string::npos) {
      const double at = moment(line, builder);
      if (date_begin < 0) date_begin = at;
      if (at < date_begin || at - date_begin > kLongestTrace)
        builder.fail(line, "before the first row, or years after it", "rows of one trace");
      builder.step(at - date_begin, builder.count(line, line.cells[2]));
    } else if (size == 3) {
      builder.event(line, builder.time(line, line.cells[0], scale), line.cells[1], line.cells[2]);
    } else if (size == 4) {
      builder.event(line, builder.time(line, line.cells[0], scale), line.cells[1], line.cells[2],
                    seen_of(line, scale, builder));
    } else if (size == 2) {
      if (unit == CountUnit::kUnknown)
        throw_input_error("availability.unit", "numbers of machines at times of no unit",
                          {file, line.number, 1, line.text},
                          "hours:FILE, seconds:FILE or milliseconds:FILE, or a header "
                          "hours,machines");
      builder.step(builder.time(line, line.cells[0], scale_of(unit)),
                   builder.count(line, line.cells[1]));
    } else {
      builder.fail(line, counted(size, "cell"), "0,add,node1 or 0,30");
    }
  }
}

}  // namespace

void read_form(std::string_view text, const std::string& file, CountUnit unit,
               AvailabilityBuilder& builder) {
  const std::vector<TraceLine> lines = trace_lines(text);
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
}

}  // namespace nereus::simulate
