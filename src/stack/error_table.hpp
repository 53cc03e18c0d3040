// How far measured runs are from predictions by a fit that has not seen them, and the interval of a
// new prediction that follows.
//
// The residual of a run is r = ln(measured / predicted), of its step time or of its memory, by a
// fit that left out the run's whole group (calibrate/leave_out.hpp). Its typical size depends on
// what the prediction is of, by effects that add up:
//   ln s = all + family + software + stack + device + width + size (+ fill, for memory)
// and r / s has one distribution for all runs, whose quantiles the table has. The effects are those
// of a ridge regression of ln(|r| + 0.005) (calibrate/fit_errors.hpp), in which a condition with
// few groups is shrunk toward none: its software stands in for its release, and so on.
//
// s grows for each thing that no run behind the table has:
//   s' = s sqrt(1 + n (u^2 - 1))
// with u = how much larger residuals are if their whole source is left out, not only their group.
// n counts 1 for a software, a device or a family of models of which there is no run of any kind,
// and 1/4 for less: a relative of either, both together, the family or the width of numbers with
// them, more than twice as many devices, a feature of the plan. (A source that nobody has seen
// differs in several of them at once; that each is a quarter of it is assumed.) Nothing is known if
// no run has the device or a relative, nor the software or what it builds on.
//
// Whether a plan fits is known better than its memory, because runs also failed:
//   P(fits) = 1 / (1 + exp(-(ln(capacity / predicted) - center) / spread)),
// fitted to runs that ran and runs that failed. For software without failed runs the spread grows
// like s with n = 1/4.
//
//   const std::optional<ErrorBand> band = table.band(Quantity::kStep, conditions);
//   if (band) low = step * std::exp(band->low());      // 80 % of runs take that to high()
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stack/conditions.hpp"

namespace nereus::cost {

enum class Quantity { kStep, kMemory };
inline constexpr int kNumQuantities = 2;

struct ErrorBand {
  static constexpr std::array<double, 5> kShares = {0.05, 0.10, 0.50, 0.90, 0.95};
  std::array<double, 5> quantiles{};  // of r
  double mean_abs = 0;                // of |predicted - measured| / measured
  double median_abs = 0;
  int rows = 0;                     // runs behind it that are most alike
  std::string basis;                // "decoder, nemo, H100, 8-bit"
  std::vector<std::string> unseen;  // what no run behind it has

  // The prediction itself is always inside.
  double low() const { return quantiles[1] < 0 ? quantiles[1] : 0; }
  double high() const { return quantiles[3] > 0 ? quantiles[3] : 0; }
  bool operator==(const ErrorBand&) const = default;
};

struct ErrorEffect {
  double value = 0;  // of ln s
  int rows = 0;
  int groups = 0;
  bool operator==(const ErrorEffect&) const = default;
};

struct SeenRuns {
  int rows = 0;
  int most_devices = 0;
  bool operator==(const SeenRuns&) const = default;
};

// Family, software, device, width of numbers.
using SeenKey = std::array<std::string, 4>;

struct ErrorScale {
  double all = 0;
  std::map<std::string, ErrorEffect, std::less<>> effects;  // "device:H100"
  std::array<double, 5> quantiles{};                        // of r / s, at ErrorBand::kShares
  double mean_abs = 0;                                      // in units of s
  double median_abs = 0;
  double unseen = 1;  // u
  std::map<SeenKey, SeenRuns> seen;
  bool operator==(const ErrorScale&) const = default;
};

struct FitsCurve {
  double center = 0;
  double spread = 0;                            // 0: nothing is known
  std::set<std::string, std::less<>> software;  // of the runs that failed
  bool operator==(const FitsCurve&) const = default;
};

struct ErrorTable {
  std::array<ErrorScale, kNumQuantities> scales;
  FitsCurve fits;
  std::set<std::string, std::less<>> features;  // that some run has
  std::set<std::string, std::less<>> sources;   // sets of the runs

  std::optional<ErrorBand> band(Quantity quantity, const Conditions& conditions) const;
  // On a device with this capacity, in bytes.
  std::optional<double> fits_probability(const Conditions& conditions, double predicted,
                                         double capacity) const;
  // The share of a device that must stay free for this probability.
  std::optional<double> headroom_for(const Conditions& conditions, double probability) const;
  // Whether a run with this software on this family of devices is behind the table.
  bool has(std::string_view software, std::string_view device) const;
  // Adds what another table knows of effects, runs and features; its software is new.
  void merge(const ErrorTable& other);
  bool operator==(const ErrorTable&) const = default;
};

// The effects that add up for these conditions: "family:decoder", "software:nemo", ...
std::vector<std::string> effects_of(Quantity quantity, const Conditions& conditions);
SeenKey seen_key(const Conditions& conditions);

// As CSV, with the columns of data/stacks/3-left-out.csv. Throws Errors.
ErrorTable parse_error_table(std::string_view csv, const std::string& file);
std::string write_error_table(const ErrorTable& table);

}  // namespace nereus::cost
