// The rank nearest to its capacity (cost/general/ranks.hpp).
#include <algorithm>

#include "cost/general/ranks.hpp"

namespace nereus::cost::general {

using plan::Tier;

Memory worst_memory(const Context& context, const std::vector<RankLoad>& loads, bool& fits) {
  Memory worst;
  fits = true;
  double fullest = -1;
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    if (!context.layout.used[rank]) continue;
    const Machine& machine = context.wires.machine_at(static_cast<int>(rank));
    const RankMemory& memory = loads[rank].memory;
    const MemoryParts parts = memory_parts(memory, context.options, machine.parameters);
    const double total = total_of(parts);
    const double capacity = machine.capacity();
    fits = fits && total <= capacity;
    for (const Tier tier : {Tier::kExpanded, Tier::kHost, Tier::kNvme})
      fits = fits && memory.tiers[static_cast<std::size_t>(tier)] <= machine.tier(tier).capacity;
    if (const double host = memory.tiers[static_cast<std::size_t>(Tier::kHost)];
        host > worst.host || worst.host_capacity == 0) {
      worst.host = std::max(worst.host, host);
      worst.host_capacity = machine.tier(Tier::kHost).capacity;
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
