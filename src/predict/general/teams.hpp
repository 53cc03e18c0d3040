// Memory of every rank of a placement, and what each updates at the end of a step.
//
//   std::vector<RankLoad> loads = rank_loads(context);
//   Memory worst = worst_memory(context, loads, fits);      // the rank nearest to its capacity
#pragma once

#include <vector>

#include "predict/general/context.hpp"
#include "predict/memory.hpp"

namespace nereus::cost::general {

struct RankLoad {
  RankMemory memory;
  double updates = 0;         // parameters whose optimizer state it keeps
  double copied_seconds = 0;  // in which state passes from and to memory beyond the device
};

std::vector<RankLoad> rank_loads(Context& context);

// Sets `fits` to whether every rank's memory, and every node's, suffices.
Memory worst_memory(const Context& context, const std::vector<RankLoad>& loads, bool& fits);

}  // namespace nereus::cost::general
