// Compares two profiles of a machine (profile/machine_profile.hpp) number by number: which ones
// agree within their intervals (profile/statistics.hpp). Two measurements of one idle machine
// should agree; if they do not, the machine was busy, its clock changes, or it is another machine.
//
// Each of the m numbers that have intervals in both profiles is tested at 1 - 0.05 / m with Welch's
// t-test (Bonferroni): two measurements of an unchanged machine agree in all m numbers in 95 of 100
// cases. A number that comes from only one process in one of the files has no interval; then the
// ranges of its repeats are compared, without such a guarantee.
//
//   Comparison c = compare_machines(first, second);
//   c.agree();                                    // in all numbers
//   for (const Compared& own : c.numbers) own.difference;
#pragma once

#include <string>
#include <vector>

#include "base/format.hpp"
#include "profile/profile.hpp"

namespace nereus::measure {

struct Compared {
  std::string what{};  // "gemm fp32 512 x 512 x 512"
  Unit unit = Unit::kNone;
  profile::Quantiles first{};
  profile::Quantiles second{};
  double difference = 0;     // of medians, as a share of the smaller one
  bool has_interval = true;  // false: compared by the ranges of repeats
  double half_width = 0;     // of the interval of the difference, at Comparison::confidence
  bool agrees = true;
};

struct Comparison {
  std::vector<Compared> numbers{};        // in both profiles
  std::vector<std::string> first_only{};  // measured in only one of them
  std::vector<std::string> second_only{};
  std::vector<std::string> other_contexts{};  // "library: libtorch 1.13.1, then libtorch 2.1.0"
  int num_tested = 0;                         // number of `numbers` compared by intervals
  double confidence = 0;  // of each test, so that all together have 95 %; 0 if there are none
  int num_differing() const;
  bool agree() const { return num_differing() == 0; }
};

Comparison compare_machines(const profile::Profile& first, const profile::Profile& second);

}  // namespace nereus::measure
