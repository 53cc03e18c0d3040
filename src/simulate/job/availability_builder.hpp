// What all forms of availability files share: lines with their cells, and a builder that gathers
// events or numbers of machines, with errors at their place. Inside simulate/job only.
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

inline constexpr double kLongestTrace = 10 * 366 * 86400.0;  // seconds that are played

struct TraceLine {
  int number = 0;
  std::vector<std::string> cells;
  std::string text;
};
// Without comments and empty ones.
std::vector<TraceLine> trace_lines(std::string_view text);
std::optional<double> trace_number(const std::string& text);  // finite

class AvailabilityBuilder {
 public:
  explicit AvailabilityBuilder(std::string file) : file_(std::move(file)) {}

  [[noreturn]] void fail(const TraceLine& line, const std::string& what,
                         const std::string& hint) const;
  double time(const TraceLine& line, const std::string& text, double unit) const;
  int count(const TraceLine& line, const std::string& text) const;
  // `seen`, of one that goes: seconds until that is seen, or less than 0 from when it was known.
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
