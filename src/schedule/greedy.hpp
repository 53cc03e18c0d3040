// Makes an order for any placement of stages on ranks, for which no named schedule exists.
//
// It follows the two rules of 1F1B, simulated in unit time (forward 1, backward 2): a rank runs a
// backward pass as soon as one can run, the earliest micro-batch first. Otherwise it runs a forward
// pass of the latest stage that can run and holds fewer micro-batches than there are stages from it
// to the last. So the last stage always finishes what it began, and there is no deadlock.
//
//   Order order = greedy_order({0, 1, 0}, /*num_ranks=*/2, /*micro_batches=*/8);
#pragma once

#include <vector>

#include "schedule/order.hpp"

namespace nereus::schedule {

Order greedy_order(const std::vector<int>& rank_of_stage, int num_ranks, int micro_batches);

}  // namespace nereus::schedule
