// Neighbours of a plan: one change each, predicted. They keep the batch, the model and the
// precision, so that the training learns the same.
//
//   for (const Change& c : single_changes(resolved, prediction, engine, facts))
//     c.gain;                                                // 0.12 = 12 %
//
// Listed are those that can be built, fit into memory, are faster (or fit where the plan does not),
// and that the engine can express; the fastest first.
#pragma once

#include <string>
#include <vector>

#include "app/predict/predict_plan.hpp"
#include "export/bundle.hpp"
#include "search/regular/space.hpp"

namespace nereus::app {

struct Change {
  std::string what;  // "micro-batch 2"
  plan::Degrees degrees;
  double step = 0;                 // seconds
  double gain = 0;                 // of throughput: 0.12 = 12 % more tokens in the same time
  double memory = 0;               // bytes on the fullest rank
  std::vector<std::string> lines;  // of the engine's files: "+ --sequence-parallel"
};

// Whether the engine has words for all of a plan.
bool can_express(exporting::Engine engine, const ResolvedPlan& plan, const plan::Degrees& degrees,
                 const exporting::StackFacts& facts);

// Leaves out of a search what the engine has no words for at all.
void narrow(search::Choices& choices, exporting::Engine engine);

std::vector<Change> single_changes(const ResolvedPlan& plan, const plan::Degrees& degrees,
                                   const cost::Prediction& prediction, exporting::Engine engine,
                                   const exporting::StackFacts& facts);

// The best plan of all that fits and that the engine can express, as the planner finds it
// (search/regular); nothing where it is no faster than this one.
std::optional<Change> best_change(const ResolvedPlan& plan, const plan::Degrees& degrees,
                                  const cost::Prediction& prediction, exporting::Engine engine,
                                  const exporting::StackFacts& facts);

}  // namespace nereus::app
