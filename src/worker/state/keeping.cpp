#include "worker/state/keeping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "worker/state/rank_plan.hpp"

namespace nereus::worker {

namespace {

using plan::LayerRun;
using plan::StateKind;

constexpr plan::ElementRange kWhole{0, plan::kStateUnits};

// Units of every rank with its shares joined; {-1, -1} if they are not adjacent.
std::map<int, plan::ElementRange> units_by_rank(const LayerRun& run, StateKind kind, int slice) {
  std::vector<Shard> shards = shards_of(run, kind, slice, plan::kStateUnits);
  std::stable_sort(shards.begin(), shards.end(),
                   [](const Shard& a, const Shard& b) { return a.units.begin < b.units.begin; });
  std::map<int, plan::ElementRange> held;
  for (const Shard& shard : shards) {
    const auto [at, is_new] = held.try_emplace(shard.rank, shard.units);
    if (is_new) continue;
    if (at->second.end == shard.units.begin)
      at->second.end = shard.units.end;
    else
      at->second = {-1, -1};
  }
  return held;
}

// Whether someone who computes lacks a part.
bool is_divided(const LayerRun& run, StateKind kind, int slice) {
  const std::map<int, plan::ElementRange> held = units_by_rank(run, kind, slice);
  for (const int rank : data_ranks(run, slice)) {
    const auto at = held.find(rank);
    if (at == held.end() || at->second != kWhole) return true;
  }
  return false;
}

bool same_boundaries(const std::vector<Shard>& a, const std::vector<Shard>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Shard& x, const Shard& y) { return x.units == y.units; });
}

}  // namespace

std::vector<Shard> shards_of(const LayerRun& run, StateKind kind, int slice, std::int64_t length) {
  std::vector<Shard> shards;
  for (const plan::StateShare& share : run.state) {
    if (share.kind != kind || share.experts || share.peer_copy || share.begin == share.end)
      continue;
    if (slice < share.first_slice || slice >= share.first_slice + share.num_slices) continue;
    int j = 0;
    for (const plan::RankRange& ranks : share.ranks)
      for (int i = 0; i < ranks.count; ++i, ++j)
        shards.push_back(
            {ranks.first + i * ranks.stride + (slice - share.first_slice) * share.slice_stride,
             elements_of_piece(share, j % share.pieces, length),
             elements_of_piece(share, j % share.pieces, plan::kStateUnits)});
  }
  return shards;
}

std::vector<std::vector<Shard>> whole_copies(const std::vector<Shard>& shards) {
  std::vector<std::vector<Shard>> copies;
  std::vector<bool> used(shards.size(), false);
  for (std::size_t left = shards.size(); left > 0;) {
    std::vector<Shard>& copy = copies.emplace_back();
    for (std::int64_t at = 0; at < plan::kStateUnits;) {
      // The plan lists a copy's shares behind each other: the first that fits goes on.
      std::size_t next = 0;
      while (next < shards.size() && (used[next] || shards[next].units.begin != at)) ++next;
      if (next == shards.size()) return {};
      const Shard& shard = shards[next];
      used[next] = true;
      --left;
      at = shard.units.end;
      if (!copy.empty() && copy.back().rank == shard.rank) {
        copy.back().range.end = shard.range.end;
        copy.back().units.end = shard.units.end;
      } else {
        copy.push_back(shard);
      }
    }
  }
  return copies;
}

Keeping keeping_of(const LayerRun& run, int slice) {
  Keeping keeping;
  const std::vector<int> computing = data_ranks(run, slice);
  const auto copies = whole_copies(shards_of(run, StateKind::kOptimizer, slice, plan::kStateUnits));
  keeping.num_copies = static_cast<int>(copies.size());
  for (const plan::Replicas& r : run.replicas)
    keeping.same_counts &= r.num_micro_batches == run.replicas.front().num_micro_batches;
  if (copies.empty()) {  // layers without weights
    keeping.members = computing;
    return keeping;
  }
  for (const auto& copy : copies)
    for (const Shard& shard : copy) keeping.members.push_back(shard.rank);
  for (const int rank : keeping.members)
    keeping.apart |= std::find(computing.begin(), computing.end(), rank) == computing.end();
  for (const int rank : computing)
    if (std::find(keeping.members.begin(), keeping.members.end(), rank) == keeping.members.end()) {
      keeping.members.push_back(rank);
      keeping.apart = true;
    }
  keeping.divided_optimizer =
      keeping.num_copies == 1 ? keeping.members.size() > 1 : copies.front().size() > 1;
  keeping.divided_gradients =
      keeping.divided_optimizer && is_divided(run, StateKind::kGradients, slice);
  keeping.divided_weights =
      keeping.divided_optimizer && is_divided(run, StateKind::kWeights, slice);
  return keeping;
}

std::vector<std::string> cannot_keep(const LayerRun& run) {
  const int tp = run.replicas.front().tp;
  for (const plan::StateShare& share : run.state)
    if (!share.experts && share.cut != tp)
      return {fmt::format("keeps state in {} and computes in {}", counted(share.cut, "slice"), tp)};
  if (std::none_of(run.state.begin(), run.state.end(),
                   [](const plan::StateShare& share) { return !share.experts; }))
    return {};  // layers without weights
  std::vector<std::string> reasons;
  std::map<int, int> slice_of;
  for (int slice = 0; slice < tp; ++slice) {
    const auto copies =
        whole_copies(shards_of(run, StateKind::kOptimizer, slice, plan::kStateUnits));
    if (copies.empty()) return {"keeps optimizer state in shares that overlap"};
    for (const auto& copy : copies) {
      if (!same_boundaries(copy, copies.front()))
        return {"keeps copies of the optimizer's state that are divided in different places"};
      std::set<int> ranks;
      for (const Shard& shard : copy)
        if (!ranks.insert(shard.rank).second)
          return {fmt::format("keeps two separate ranges of a layer on rank {}", shard.rank)};
    }
    const Keeping keeping = keeping_of(run, slice);
    if (copies.size() > 1 && keeping.apart)
      return {
          "keeps several copies of the optimizer's state, and some ranks only compute or only "
          "store"};
    for (const int rank : keeping.members)
      if (const auto [at, is_new] = slice_of.try_emplace(rank, slice); !is_new)
        return {fmt::format("makes rank {} keep slices {} and {}", rank, at->second, slice)};
    const auto optimizer = units_by_rank(run, StateKind::kOptimizer, slice);
    for (const StateKind kind : {StateKind::kWeights, StateKind::kGradients}) {
      const bool divided =
          kind == StateKind::kWeights ? keeping.divided_weights : keeping.divided_gradients;
      if (divided && units_by_rank(run, kind, slice) != optimizer)
        reasons.push_back(fmt::format("divides {} in other ways than the optimizer's state",
                                      plan::to_string(kind)));
    }
  }
  return reasons;
}

}  // namespace nereus::worker
