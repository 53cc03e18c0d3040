// Two profiles of a machine (profile/machine_profile.hpp), number by number: which agree within
// their own intervals (profile/statistics.hpp) and which do not. Two measurements of one idle
// machine should; where they do not, the machine was busy, its clock changes, or it is not the same
// machine.
//
// Of m numbers that have intervals in both, each is tested at 1 - 0.05 / m by Welch's t
// (Bonferroni): of two measurements of one machine that is no different, 95 in 100 agree in all m.
// A number that one of the two files has of one process alone has no interval; there the ranges of
// its repeats are compared, which promises nothing of the kind.
//
//   Comparison c = compare_machines(first, second);
//   c.agree();                                    // all of them
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
  double difference = 0;     // of medians, a share of the smaller
  bool has_interval = true;  // else by ranges of repeats
  double half_width = 0;     // of the interval of the difference, at Comparison::confidence
  bool agrees = true;
};

struct Comparison {
  std::vector<Compared> numbers{};        // that both have
  std::vector<std::string> first_only{};  // measured in one of them alone
  std::vector<std::string> second_only{};
  std::vector<std::string> other_contexts{};  // "library: libtorch 1.13.1, then libtorch 2.1.0"
  int num_tested = 0;                         // of `numbers`, by intervals
  double confidence = 0;  // of each of them, so that all hold together at 95 %; 0 of none
  int num_differing() const;
  bool agree() const { return num_differing() == 0; }
};

Comparison compare_machines(const profile::Profile& first, const profile::Profile& second);

}  // namespace nereus::measure
