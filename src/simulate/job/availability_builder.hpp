// What all formats of availability files share: lines with their cells, and a builder that collects
// events or numbers of machines and reports errors at their place. Only for use inside
// simulate/job.
//
//   AvailabilityBuilder builder(file);
//   for (const TraceLine& line : trace_lines(text)) builder.event(line, ...);
//   Availability trace = builder.finish(name);
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulate/job/availability.hpp"

namespace nereus::simulate {

inline constexpr double kLongestTrace = 10 * 366 * 86400.0;  // longest trace in seconds

struct TraceLine {
  int number = 0;
  std::vector<std::string> cells;
  std::string text;
};
// The lines of the text, without comments and empty lines.
std::vector<TraceLine> trace_lines(std::string_view text);
std::optional<double> trace_number(const std::string& text);  // must be finite

class AvailabilityBuilder {
 public:
  explicit AvailabilityBuilder(std::string file) : file_(std::move(file)) {}

  [[noreturn]] void fail(const TraceLine& line, const std::string& what,
                         const std::string& hint) const;
  double time(const TraceLine& line, const std::string& text, double unit) const;
  int count(const TraceLine& line, const std::string& text) const;
  // `seen`, for a removal: seconds until it is detected; negative: it was known that many seconds
  // before.
  void event(const TraceLine& line, double time, const std::string& word, const std::string& node,
             std::optional<double> seen = std::nullopt);
  void step(double time, int count) { steps_.push_back({time, count}); }
  void end(double time) { end_ = std::max(end_, time); }
  Availability finish(const std::string& name);

 private:
  std::string file_;
  Availability trace_;
  std::map<std::string, int> index_;
  std::vector<bool> there_;
  std::vector<CountStep> steps_;
  double end_ = 0;
};

}  // namespace nereus::simulate
