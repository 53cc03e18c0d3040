// Memory of every rank of a placement, and the parameters that each rank updates at the end of a
// step.
//
//   std::vector<RankLoad> loads = rank_loads(context);
//   Memory worst = worst_memory(context, loads, fits);      // of the rank nearest to its capacity
#pragma once

#include <vector>

#include "predict/general/context.hpp"
#include "predict/memory.hpp"

namespace nereus::cost::general {

struct RankLoad {
  RankMemory memory;
  double updates = 0;         // parameters whose optimizer state the rank keeps
  double host_updates = 0;    // part of them that its host updates
  double copied_seconds = 0;  // seconds to copy state between the device and offload tiers
};

std::vector<RankLoad> rank_loads(Context& context);

// Sets `fits` to whether the memory of every rank and of every node is sufficient.
Memory worst_memory(const Context& context, const std::vector<RankLoad>& loads, bool& fits);

}  // namespace nereus::cost::general
