// An order for stages that lie on ranks in any way: what no named schedule was written for.
//
// 1F1B by its two rules, played in unit time (forward 1, backward 2): a rank runs a backward pass
// as soon as one can run, the earliest micro-batch first; else a forward pass of the latest stage
// that can run and holds fewer micro-batches than there are stages from it to the last. So the last
// stage always finishes what it began, and nothing waits in a circle.
//
//   Order order = greedy_order({0, 1, 0}, /*num_ranks=*/2, /*micro_batches=*/8);
#pragma once

#include <vector>

#include "schedule/order.hpp"

namespace nereus::schedule {

Order greedy_order(const std::vector<int>& rank_of_stage, int num_ranks, int micro_batches);

}  // namespace nereus::schedule
