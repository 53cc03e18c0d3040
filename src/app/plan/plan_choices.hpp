// What planners that lay out ranks by a rule of their own (--spot, --burst) must not be given.
// Inside app/ only.
#pragma once

#include "app/plan/plan_verb.hpp"

namespace nereus::app {

// Whether a request fixes degrees, schedules, offloading, an engine or numbers of nodes.
inline bool fixes_layout(const PlanRequest& request) {
  const search::Choices& c = request.choices;
  const bool free = c.tp.empty() && c.pp.empty() && c.dp.empty() && c.cp.empty() && c.ep.empty() &&
                    c.interleave.empty() && c.micro_batch.empty() && c.zero.empty() &&
                    c.zero_group.empty() && c.recompute.empty() && c.schedules.empty() &&
                    c.offloads.empty() && !c.offload_any;
  return !free || request.engine || !request.nodes.empty();
}

}  // namespace nereus::app
