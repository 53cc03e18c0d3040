// A change to a mixed plan's request, tried by a short search: where hardly anything fits a whole
// one takes seconds. Inside app/ only.
//
//   kQuickest   the first 1,000 candidates, which are those that could be quickest
//   kDivided    all recomputed, all state divided (ZeRO-3): the leanest on devices
//   kPipelines  all recomputed, micro-batches of one, stages: the leanest on hosts
//
// Plans of one kind alone (app/plan/plan_one_kind.hpp) are not looked for. So what is found fits,
// and planning it in full may find something quicker.
//
//   if (auto found = try_change(with_more_nodes, {Manners::kDivided})) found->prediction.step;
#pragma once

#include <optional>
#include <vector>

#include "app/plan/plan_verb.hpp"
#include "search/mixed/mixed_search.hpp"

namespace nereus::app {

enum class Manners { kQuickest, kDivided, kPipelines };

// Whether what was fixed allows them.
bool allows(const search::Choices& choices, Manners manners);

// The best plan of these manners that fits; `known` (in the numbering of mixed::canonical) is one.
// The request names its precision and its batch; Errors of its inputs count as nothing.
std::optional<mixed::MixedPlan> try_change(const PlanRequest& request,
                                           const std::vector<Manners>& manners,
                                           const std::optional<plan::Placement>& known = {});

}  // namespace nereus::app
