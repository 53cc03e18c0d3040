// Trials that AMP's authors ran on a mixed cluster (data/amp/mixed_cluster.csv), as plans that can
// be predicted. Only for use inside reproduce/.
//
// Ranks are numbered tensor fastest, then data, then pipeline, over three nodes of V100s and one of
// T4s. `cuts` divide AMP's 30 pieces of the model, some of which have no work; every stage must
// have some work.
//
//   for (const AmpTrial& trial : read_amp_trials())
//     if (trial.measured) plan_of(trial);                 // passes plan/check.hpp
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/placement.hpp"
#include "stack/stack.hpp"

namespace nereus::app {

struct AmpTrial {
  std::string name{};
  int micro_batch = 1;
  int tp = 1;
  int dp = 1;
  int pp = 1;
  std::vector<int> cuts{};           // pp + 1 of them, from 0 to 30
  double amp = 0;                    // predicted by AMP, in seconds
  std::optional<double> measured{};  // empty: it did not run
};

// Throws Errors if a row cannot be a plan.
std::vector<AmpTrial> parse_amp_trials(std::string_view text, const std::string& file);
std::vector<AmpTrial> read_amp_trials();

plan::Plan plan_of(const AmpTrial& trial);
cost::Stack amp_stack();  // data/amp/stack.toml

}  // namespace nereus::app
