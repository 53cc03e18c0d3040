// From the compact form of a plan to the general one, and back.
//
//   Placement p = expand(degrees, model);       // degrees must pass check_degrees
//   as_regular(p, model) == canonical(degrees)  // nothing where p is not regular
//
// One run per virtual stage (layers and ranks as in plan/stages.hpp). Samples go to replicas
// micro-batch by micro-batch, as Megatron-LM hands them out: micro-batch m of data rank d holds
// samples (m dp + d) micro_batch + [0, micro_batch). DualPipe's second stream takes the second half
// of the micro-batches.
//
// State of tensor slice t of a stage lies on its data group, the cp x dp ranks with equal t. ZeRO 1
// divides the optimizer, 2 also gradients, 3 also weights, over zero_group neighbours of that
// group. Expert slices (tensor part fastest, then expert group) lie on consecutive ranks of the
// stage and repeat every ep x expert_tp ranks: the experts' own data group. So do the slices of
// embedding tables, which ZeRO does not divide. The offloaded share of weights and optimizer is the
// first part of every buffer.
#pragma once

#include <optional>
#include <vector>

#include "model/model.hpp"
#include "plan/degrees.hpp"
#include "plan/placement.hpp"

namespace nereus::plan {

Placement expand(const Degrees& degrees, const model::Model& model);

// The same with the layers of each virtual stage given: stage s holds [starts[s], starts[s + 1]).
Placement expand(const Degrees& degrees, const model::Model& model, const std::vector<int>& starts);

// The degrees whose expansion this placement is, in canonical form; nothing where there are none.
std::optional<Degrees> as_regular(const Placement& placement, const model::Model& model);
// The same where stages may hold any number of layers, and what they hold is read from the runs.
std::optional<Degrees> as_regular_with_own_stages(const Placement& placement,
                                                  const model::Model& model);

// The same plan with fields that have no effect at their defaults: zero_group = the whole data
// group is written 0; zero and zero_group are 0 where nothing is divided; offload shares are
// multiples of 1 / kStateUnits, and of nothing in the host tier; ep and expert_tp are 1 without
// experts and tables; table_split is the default where nothing is cut; recompute_blocks is 0 where
// no stage (as plan/stages.hpp cuts them) holds more.
Degrees canonical(const Degrees& degrees, const model::Model& model);

}  // namespace nereus::plan
