#include "search/mixed/team_memory.hpp"

namespace nereus::mixed {

double TeamMemory::without_state(int group, int m, int n) {
  const auto g = static_cast<std::size_t>(group), at = static_cast<std::size_t>(m);
  if (g >= by_micro_batch_.size()) by_micro_batch_.resize(g + 1);
  if (at >= by_micro_batch_[g].size()) by_micro_batch_[g].resize(at + 1);
  Line& own = by_micro_batch_[g][at];
  if (own.first < 0) {
    own.first = bytes(group, m, 1, 0);
    own.more = manner_.zero < 3 ? 0 : bytes(group, m, 2, 0) - own.first;
  }
  return own.first + (n - 1) * own.more;
}

double TeamMemory::bytes(int group, int m, int n, double share) {
  // The number and kind of the other teams do not matter.
  int all = 0;
  for (const int teams : manner_.uses) all += teams;
  const auto [at, is_new] = machines_.team_bytes.try_emplace(
      {manner_of(manner_, group), manner_.zero, manner_.offload, m, n, share, all == 1});
  if (!is_new) {
    capacity_[group] = at->second.capacity;
    return at->second.total;
  }
  std::vector<TeamShare> teams;
  int own = -1, other = -1, own_rank = 0;
  for (std::size_t g = 0; g < machines_.groups().size(); ++g)
    for (int t = 0; t < teams_of(manner_, g); ++t) {
      const auto index = static_cast<int>(teams.size());
      if (own < 0 && static_cast<int>(g) == group) {
        own = index;
        own_rank = machines_.groups()[g].first + t * manner_.tp;
      } else if (other < 0) {
        other = index;
      }
      teams.push_back({static_cast<int>(g), 0, 1, 0});
    }
  teams[own].samples = m * n;
  teams[own].micro_batch = m;
  teams[own].state = other < 0 ? 1 : share;
  if (other >= 0) teams[other].state = 1 - share;
  const auto ranks =
      machines_.predictor().memory_by_rank(flat_placement(machines_, manner_, teams));
  const auto& found = ranks[own_rank];
  at->second = {found.total, found.capacity};
  capacity_[group] = found.capacity;
  return found.total;
}

}  // namespace nereus::mixed
