// The rank nearest to its capacity (predict/general/teams.hpp).
#include <algorithm>

#include "predict/general/teams.hpp"

namespace nereus::cost::general {

using plan::Tier;

Memory worst_memory(const Context& context, const std::vector<RankLoad>& loads, bool& fits) {
  Memory worst;
  fits = true;
  double fullest = -1;
  double fullest_tier = -1;
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    if (!context.layout.used[rank]) continue;
    const Machine& machine = context.wires.machine_at(static_cast<int>(rank));
    const RankMemory& memory = loads[rank].memory;
    const MemoryParts parts = memory_parts(memory, context.options, machine.parameters);
    const double total = total_of(parts);
    const double capacity = machine.capacity();
    fits = fits && total <= capacity;
    for (const Tier tier : {Tier::kHost, Tier::kExpanded, Tier::kNvme}) {
      const double beyond = memory.tiers[static_cast<std::size_t>(tier)];
      const double room = machine.tier(tier).capacity;
      fits = fits && beyond <= room;
      // A tier that is not there is as full as can be.
      const double share = beyond > 0 ? beyond / room : 0;
      if (share <= fullest_tier) continue;
      fullest_tier = share;
      worst.beyond_tier = tier;
      worst.beyond = beyond;
      worst.beyond_capacity = room;
    }
    if (static_cast<int>(rank) == context.layout.lowest_rank)
      worst.first_rank_allocated = allocated_of(parts);
    if (total / capacity <= fullest) continue;
    fullest = total / capacity;
    worst.parts = parts;
    worst.total = total;
    worst.capacity = capacity;
    worst.worst_stage = std::max(0, context.layout.stage_of_rank[rank]);
  }
  return worst;
}

}  // namespace nereus::cost::general
