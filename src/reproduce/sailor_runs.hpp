// Steps that Sailor's authors measured (data/sailor/runs.csv), as plans that can be predicted. Only
// for use inside reproduce/.
//
//   layers  "12/14"                           layers per stage, in order
//   teams   "2xTitan-RTX/RTX-2080 Titan-RTX"  per stage, each on one node with `tp` devices; the
//                                             j-th teams of all stages form one pipeline
//
//   for (const SailorRun& run : read_sailor_runs()) {
//     const plan::Plan plan = plan_of(run);          // passes plan/check.hpp
//     cost::Basis basis(sailor_stack());
//     basis.layers = sailor_layers(plan);          // the profiles of its devices
//   }
//
// The steps ran on Megatron-DeepSpeed: fp32, AdamW with whole state on every team, 1F1B, and
// gradients reduced after the last backward pass (DeepSpeed's pipeline engine).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost/measured.hpp"
#include "plan/placement.hpp"
#include "stack/stack.hpp"

namespace nereus::app {

struct SailorRun {
  std::string name{};
  std::string machines{};  // from data/sailor/machines.csv
  int tp = 1;
  int micro_batch = 1;
  int global_batch = 1;
  std::vector<int> layers{};                      // per stage
  std::vector<std::vector<std::string>> teams{};  // per stage: the device of each team
  std::string teams_text{};
  double measured = 0;                      // seconds per step
  std::optional<double> measured_memory{};  // bytes on the fullest device
  std::string source{};
  std::string suspect{};  // why it is excluded; empty: it is included

  bool is_mixed() const;
};

// Throws Errors if a row cannot be a plan.
std::vector<SailorRun> parse_sailor_runs(std::string_view text, const std::string& file);
std::vector<SailorRun> read_sailor_runs();  // data/sailor/runs.csv

plan::Plan plan_of(const SailorRun& run);
cost::Stack sailor_stack();  // data/sailor/stack.toml
std::shared_ptr<const cost::MeasuredLayers> sailor_layers(const plan::Plan& plan);

}  // namespace nereus::app
