// Converts the compact form of a plan to the general one, and back.
//
//   Placement p = expand(degrees, model);       // degrees must pass check_degrees
//   as_regular(p, model) == canonical(degrees)  // empty if p is not regular
//
// There is one run per virtual stage (plan/stages.hpp says which layers and ranks). Samples go to
// replicas micro-batch by micro-batch, as in Megatron-LM: micro-batch m of data rank d holds
// samples (m dp + d) micro_batch + [0, micro_batch). DualPipe's second stream gets the second half
// of the micro-batches.
//
// The state of tensor slice t of a stage is on the slice's data group, the cp x dp ranks with equal
// t. ZeRO 1 shards the optimizer state, 2 also gradients, 3 also weights, over zero_group neighbors
// of that group. Expert slices (tensor part fastest, then expert group) are on consecutive ranks of
// the stage and repeat every ep x expert_tp ranks: these repetitions are the experts' data group.
// Slices of embedding tables are placed like experts, but ZeRO does not shard them. The offloaded
// share of weights and optimizer state is the first part of every buffer.
#pragma once

#include <optional>
#include <vector>

#include "model/model.hpp"
#include "plan/degrees.hpp"
#include "plan/placement.hpp"

namespace nereus::plan {

Placement expand(const Degrees& degrees, const model::Model& model);

// Like expand() above, with given layers per virtual stage: stage s holds layers [starts[s],
// starts[s + 1]).
Placement expand(const Degrees& degrees, const model::Model& model, const std::vector<int>& starts);

// The degrees whose expansion is this placement, in canonical form; empty if there are none.
std::optional<Degrees> as_regular(const Placement& placement, const model::Model& model);
// Like as_regular(), but stages may hold any number of layers, read from the runs.
std::optional<Degrees> as_regular_with_own_stages(const Placement& placement,
                                                  const model::Model& model);

// The same plan, with the fields that have no effect set to their defaults: zero_group is 0 if it
// is the whole data group; zero and zero_group are 0 if nothing is sharded; offload shares are
// multiples of 1 / kStateUnits; the offload tier is the host if nothing is offloaded; ep and
// expert_tp are 1 without experts and tables; table_split is the default if no table is cut;
// recompute_blocks is 0 if no stage (as plan/stages.hpp cuts them) holds more blocks.
Degrees canonical(const Degrees& degrees, const model::Model& model);

}  // namespace nereus::plan
