// Tries a change to the request for a mixed plan with a short search, because a whole search takes
// seconds if hardly anything fits. Only for use inside app/.
//
//   kQuickest   the first 1,000 candidates, which are those that could be fastest
//   kDivided    full recompute, all state sharded (ZeRO-3): least device memory
//   kPipelines  full recompute, micro-batches of one, stages: least host memory
//
// Plans on only one kind of node (app/plan/plan_one_kind.hpp) are not tried. So the plan that is
// found fits, and a whole search may find a faster one.
//
//   if (auto found = try_change(with_more_nodes, {Manners::kDivided})) found->prediction.step;
#pragma once

#include <optional>
#include <vector>

#include "app/plan/plan_verb.hpp"
#include "search/mixed/mixed_search.hpp"

namespace nereus::app {

enum class Manners { kQuickest, kDivided, kPipelines };

// Whether the fixed options allow these candidates.
bool allows(const search::Choices& choices, Manners manners);

// The best plan among these candidates that fits; `known` (with ranks numbered as in
// mixed::canonical) is one of them. The request must give precision and batch. If its inputs have
// errors, the result is empty.
std::optional<mixed::MixedPlan> try_change(const PlanRequest& request,
                                           const std::vector<Manners>& manners,
                                           const std::optional<plan::Placement>& known = {});

}  // namespace nereus::app
