#include "chakra/groups.hpp"

#include <algorithm>
#include <map>

namespace nereus::chakra {

Groups::Groups(const plan::Degrees& degrees, int pieces, int expert_pieces,
               std::pair<int, int> tied)
    : degrees_(degrees),
      pieces_(std::max(1, pieces)),
      expert_pieces_(std::max(1, expert_pieces)),
      tied_(std::minmax(tied.first, tied.second)) {
  int next = 1;
  for (int k = 0; k < kNumGroupKinds; ++k) {
    std::vector<int>& ids = ids_[k];
    ids.assign(static_cast<std::size_t>(degrees.num_ranks()), 0);
    for (int rank = 0; rank < degrees.num_ranks(); ++rank) {
      const std::vector<int> ranks = members(static_cast<GroupKind>(k), rank);
      if (ranks.size() <= 1 || ranks.front() != rank) continue;
      for (const int member : ranks) ids[member] = next;
      ++next;
    }
  }
}

std::vector<int> Groups::members(GroupKind kind, int rank) const {
  const plan::Degrees& d = degrees_;
  const int stage = d.tp * d.cp * d.dp;
  const int pipeline = rank / stage;
  const int place = rank % stage;
  const int first = pipeline * stage;
  const int t = place % d.tp;
  const int g = place / d.tp;
  const int run = d.ep * d.expert_tp;
  std::vector<int> ranks;
  // `count` ranks that start at a place of the stage, `stride` apart.
  const auto add = [&](int base, int start, int count, int stride) {
    for (int i = 0; i < count; ++i) ranks.push_back(base + start + i * stride);
  };
  // The other pipeline rank that holds the same stages comes with the copies.
  const auto add_copies = [&](int start, int count, int stride) {
    const bool dual = d.pp > 1 && d.schedule == plan::Schedule::kDualPipe;
    const int other = (d.pp - 1 - pipeline) * stage;
    if (dual && other < first) add(other, start, count, stride);
    add(first, start, count, stride);
    if (dual && other > first) add(other, start, count, stride);
  };
  switch (kind) {
    case GroupKind::kTensor:
      add(first, g * d.tp, d.tp, 1);
      break;
    case GroupKind::kContext:
      add(first, t + g / d.cp * d.cp * d.tp, d.cp, d.tp);
      break;
    case GroupKind::kExperts:
      add(first, place / run * run + place % d.expert_tp, d.ep, d.expert_tp);
      break;
    case GroupKind::kExpertParts:
      add(first, place / d.expert_tp * d.expert_tp, d.expert_tp, 1);
      break;
    case GroupKind::kState:
      add(first, t + g / pieces_ * pieces_ * d.tp, pieces_, d.tp);
      break;
    case GroupKind::kCopies:
      add_copies(t + g % pieces_ * d.tp, d.cp * d.dp / pieces_, pieces_ * d.tp);
      break;
    case GroupKind::kExpertState:
      add(first, place % run + place / run / expert_pieces_ * expert_pieces_ * run, expert_pieces_,
          run);
      break;
    case GroupKind::kExpertCopies:
      add_copies(place % run + place / run % expert_pieces_ * run, stage / run / expert_pieces_,
                 expert_pieces_ * run);
      break;
    case GroupKind::kTied:
      if (tied_.first < tied_.second && (pipeline == tied_.first || pipeline == tied_.second))
        add(tied_.first * stage, place, 2, (tied_.second - tied_.first) * stage);
      else
        ranks.push_back(rank);
      break;
  }
  return ranks;
}

std::string Groups::json() const {
  std::map<int, std::pair<GroupKind, int>> by_id;  // with one of its ranks
  for (int k = 0; k < kNumGroupKinds; ++k)
    for (int rank = 0; rank < degrees_.num_ranks(); ++rank)
      if (const int number = id(static_cast<GroupKind>(k), rank); number > 0)
        by_id.try_emplace(number, static_cast<GroupKind>(k), rank);
  std::string text = "{";
  for (const auto& [number, group] : by_id) {
    text += (text.size() > 1 ? ",\n \"" : "\n \"") + std::to_string(number) + "\": [";
    bool first = true;
    for (const int rank : members(group.first, group.second)) {
      text += (first ? "" : ", ") + std::to_string(rank);
      first = false;
    }
    text += "]";
  }
  return text + "\n}\n";
}

}  // namespace nereus::chakra
