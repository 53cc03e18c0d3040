#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "base/error.hpp"
#include "base/parse_number.hpp"
#include "simulate/job/availability_file.hpp"
#include "spec/quantity.hpp"

namespace nereus::simulate {

namespace {

constexpr double kLongest = 10 * 366 * 86400.0;  // seconds that are played
constexpr int kMostGenerated = 100'000;

double quantity(const std::string& what, const std::string& text) {
  const spec::Parsed<Seconds> parsed = spec::parse_seconds(text);
  if (!parsed.value || !(parsed.value->value > 0) || parsed.value->value > kLongest)
    throw_input_error("availability.generated", fmt::format("'{}' in '{}' is no time", text, what),
                      {}, "30min, 1h, 7d");
  return parsed.value->value;
}

int whole(const std::string& what, const std::string& text, int least) {
  const std::optional<double> number = parse_number<double>(text);
  if (!number || !(*number >= least) || *number > kMostGenerated || *number != std::floor(*number))
    throw_input_error("availability.generated",
                      fmt::format("'{}' in '{}' is no number of machines", text, what), {},
                      fmt::format("a whole number from {} to {}", least, kMostGenerated));
  return static_cast<int>(*number);
}

}  // namespace

Availability generated_availability(const std::string& what, std::uint64_t seed) {
  std::vector<std::string> parts;
  std::istringstream stream(what);
  for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
  if (parts[0] == "regular" && parts.size() == 4) {
    const int most = whole(what, parts[1], 2);
    const int least = whole(what, parts[3], 1);
    if (least >= most)
      throw_input_error("availability.generated",
                        fmt::format("{} is not below the {} machines of '{}'", least, most, what),
                        {}, fmt::format("regular:{}:{}:{}", most, parts[2], most / 2));
    return regular_failures(most, least, quantity(what, parts[2]));
  }
  if (parts[0] == "poisson" && parts.size() == 5) {
    PoissonFailures wanted;
    wanted.nodes = whole(what, parts[1], 1);
    wanted.mean_time_between_failures = quantity(what, parts[2]);
    wanted.repair = quantity(what, parts[3]);
    wanted.duration = quantity(what, parts[4]);
    wanted.seed = seed;
    const double events =
        2 * wanted.nodes * wanted.duration / (wanted.mean_time_between_failures + wanted.repair);
    if (events > 1e6)
      throw_input_error("availability.generated",
                        fmt::format("'{}' has about {:.0f} events", what, events), {},
                        "at most a million: a shorter time, or fewer failures");
    return poisson_failures(wanted);
  }
  throw_input_error("availability.generated", fmt::format("'{}' cannot be generated", what), {},
                    "regular:30:1h:15 (machines, period, least) or poisson:64:100h:30min:7d "
                    "(machines, time between failures of one, repair, duration)");
}

}  // namespace nereus::simulate
