#include "plan/places.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace nereus::plan {

std::vector<HeldStage> stages_of_places(const Placement& placement) {
  std::vector<HeldStage> out;
  int stages = 0;
  for (const LayerRun& run : placement.runs) {
    stages = std::max(stages, run.stage + 1);
    for (const Replicas& team : run.replicas)
      for (int i = 0; i < team.count; ++i)
        for (int c = 0; c < team.cp; ++c)
          for (int t = 0; t < team.tp; ++t) {
            const int rank = team.first + i * team.team_stride + c * team.context_stride +
                             t * team.tensor_stride;
            if (static_cast<int>(out.size()) <= rank)
              out.resize(static_cast<std::size_t>(rank) + 1);
            // With several runs, or interleaved stages, the first one decides the stage of a rank.
            int& stage = out[rank].stage;
            stage = stage < 0 ? run.stage : std::min(stage, run.stage);
          }
  }
  for (HeldStage& place : out) place.stages = stages;
  return out;
}

std::vector<HeldStage> even_stages(int num_places, int stages) {
  std::vector<HeldStage> out(static_cast<std::size_t>(num_places));
  if (stages <= 0) return out;
  const int replicas = std::max(1, num_places / stages);
  for (int i = 0; i < num_places; ++i) out[i] = {std::min(i / replicas, stages - 1), stages};
  return out;
}

int fewest_copies(const Placement& placement) {
  std::optional<int> fewest;
  for (const LayerRun& run : placement.runs) {
    // Shares of the same part add up, as those of unequal replicas do.
    std::map<std::tuple<StateKind, bool, int, std::int64_t, std::int64_t>, int> copies;
    for (const StateShare& share : run.state)
      if (share.end > share.begin)
        copies[{share.kind, share.experts, share.first_slice, share.begin, share.end}] +=
            num_ranks(share.ranks) / std::max(1, share.pieces);
    for (const auto& [part, count] : copies)
      if (std::get<StateKind>(part) != StateKind::kGradients)
        fewest = std::min(fewest.value_or(count), count);
  }
  return fewest.value_or(1);
}

std::vector<int> places_that_keep_stages(const std::vector<HeldStage>& machines,
                                         const std::vector<HeldStage>& places) {
  NEREUS_CHECK(machines.size() >= places.size(), "every place is taken");
  std::vector<int> out(places.size(), -1);
  std::vector<char> placed(machines.size());
  std::map<std::pair<int, int>, std::deque<std::size_t>> free;
  for (std::size_t p = 0; p < places.size(); ++p)
    if (places[p].stage >= 0) free[{places[p].stages, places[p].stage}].push_back(p);
  for (std::size_t m = 0; m < machines.size(); ++m) {
    const auto same = free.find({machines[m].stages, machines[m].stage});
    if (same == free.end() || same->second.empty()) continue;
    out[same->second.front()] = static_cast<int>(m);
    same->second.pop_front();
    placed[m] = 1;
  }
  std::size_t next = 0;
  for (int& who : out) {
    if (who >= 0) continue;
    while (placed[next]) ++next;
    who = static_cast<int>(next++);
  }
  return out;
}

}  // namespace nereus::plan
