#include "simulate/step.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cost/testing.hpp"
#include "plan/rules.hpp"

namespace nereus::simulate {
namespace {

// Without transfers and with equal stages the played step is the predicted one, but for rounding to
// picoseconds: one for every pass in a row.
RC_GTEST_PROP(Step, EqualsThePredictionOnEqualStages, ()) {
  cost::testing::Case c = cost::testing::any_case();
  // Only blocks, as many on each stage; nothing to send.
  model::Model& model = c.model;
  std::vector<int> blocks;
  for (const int kind : model.layers)
    if (model.kinds[static_cast<std::size_t>(kind)].role == model::LayerRole::kBlock)
      blocks.push_back(kind);
  const int stages = c.degrees.pp * c.degrees.interleave;
  model.layers.assign(static_cast<std::size_t>(stages) * 2, blocks.front());
  model.tied.clear();
  for (model::LayerKind& kind : model.kinds) kind.output_elements = 0;
  c.stack.settings["host_transfer"] = 0;
  c.stack.settings["link_latency"] = 5e-7;
  c.stack.settings["network_latency"] = 1e-6;
  c.stack.settings["pipeline_overlap"] = 1;
  c.stack.settings["transfer_stall"] = 0;
  c.stack.options.stages = cost::StageRule::kEven;
  c.stack.options.local_batch_split = false;
  const bool split = cost::splits_backward(c.degrees.schedule);
  RC_PRE(c.degrees.pp == 1 || !split);  // those hold for F = B = W alone: play_test.cpp
  RC_PRE(plan::violated_rules(c.degrees, plan::degree_limits(model, c.cluster)) == 0);

  const SimulatedStep step = simulate_step(model, c.cluster, c.stack, c.degrees);
  // The first and last crossings are not overlapped in the closed form.
  const double crossings = step.predicted.part(cost::Part::kPipelineComm);
  const double slack = 1e-12 * 3 * stages * (step.size.micro_batches + stages);
  RC_ASSERT(std::abs(step.step - (step.predicted.step - crossings)) <=
            1e-9 * step.predicted.step + slack);
  RC_ASSERT(timeline::first_fault(to_timeline(step)).empty());
}

// Any plan: never shorter than the busiest rank and the rest; near the closed form.
RC_GTEST_PROP(Step, IsNoShorterThanItsBusiestRank, ()) {
  const cost::testing::Case c = cost::testing::any_case();
  const SimulatedStep step = simulate_step(c.model, c.cluster, c.stack, c.degrees);
  for (const PlayedRank& rank : step.played.ranks)
    RC_ASSERT(step.step * (1 + 1e-12) >= static_cast<double>(rank.busy) * 1e-12 + step.rest);
  RC_ASSERT(timeline::first_fault(to_timeline(step)).empty());
  RC_ASSERT(step.events > 0);
}

}  // namespace
}  // namespace nereus::simulate
