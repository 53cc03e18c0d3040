// Neighbors of a plan, which differ in one change, with their predictions. They keep the batch, the
// model and the precision, so that training is equivalent.
//
//   for (const Change& c : single_changes(resolved, prediction, engine, facts))
//     c.gain;                                                // 0.12 = 12 %
//
// The list has the changes that can be built, fit into memory, are faster (or fit if the plan does
// not), and that the engine can express; the fastest first.
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
  double gain = 0;                 // of throughput: 0.12 = 12 % more tokens per second
  double memory = 0;               // bytes on the fullest rank
  std::vector<std::string> lines;  // changes to the engine's files: "+ --sequence-parallel"
};

// Whether the engine has options for every part of a plan.
bool can_express(exporting::Engine engine, const ResolvedPlan& plan, const plan::Degrees& degrees,
                 const exporting::StackFacts& facts);

// Removes from a search the choices for which the engine has no option at all.
void narrow(search::Choices& choices, exporting::Engine engine);

std::vector<Change> single_changes(const ResolvedPlan& plan, const plan::Degrees& degrees,
                                   const cost::Prediction& prediction, exporting::Engine engine,
                                   const exporting::StackFacts& facts);

// The best plan that fits and that the engine can express, found by the planner (search/regular);
// empty if it is not faster than this one.
std::optional<Change> best_change(const ResolvedPlan& plan, const plan::Degrees& degrees,
                                  const cost::Prediction& prediction, exporting::Engine engine,
                                  const exporting::StackFacts& facts);

}  // namespace nereus::app
