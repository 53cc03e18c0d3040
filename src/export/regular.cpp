#include <fmt/format.h>

#include <algorithm>

#include "export/bundle.hpp"
#include "plan/expand.hpp"
#include "plan/stages.hpp"

namespace nereus::exporting {

namespace {

int count_blocks(const model::Model& model, int first, int count) {
  const plan::LayerSpan span = plan::layer_span(model);
  const int begin = std::max(first, span.leading);
  const int end = std::min(first + count, span.leading + span.blocks);
  return std::max(0, end - begin);
}

}  // namespace

plan::Degrees normal(plan::Degrees d, const model::Model& model) {
  d = plan::canonical(d, model);
  const plan::Degrees defaults;
  if (d.pp == 1) d.schedule = defaults.schedule;
  if (d.schedule == plan::Schedule::kInterleaved && d.interleave == 1)
    d.schedule = plan::Schedule::k1f1b;
  if (d.cp == 1) d.context = defaults.context;
  if (d.dp * d.cp == 1) d.data_overlap = defaults.data_overlap;
  if (d.tp == 1) d.tensor_overlap = d.sequence_parallel = false;
  return d;
}

RegularPlan regular(const plan::Plan& plan) {
  RegularPlan result;
  std::optional<plan::Degrees> d = plan.degrees;
  if (!d) {
    d = plan::as_regular_with_own_stages(plan.placement, plan.model);
    result.own_stages = true;
  }
  if (!d)
    throw_input_error(
        "export.irregular",
        "the plan gives ranks different work (samples, replicas or state), which no engine's "
        "configuration can express",
        {}, "nereus train can run this plan; or use a regular plan, which has \"degrees\"");
  for (const plan::LayerRun& run : plan.placement.runs)
    result.blocks.push_back(count_blocks(plan.model, run.first_layer, run.num_layers));
  result.even = std::all_of(result.blocks.begin(), result.blocks.end(),
                            [&](int blocks) { return blocks == result.blocks.front(); });
  result.degrees = normal(*d, plan.model);
  return result;
}

}  // namespace nereus::exporting
