#include "predict/general/layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Placement;
using plan::Replicas;

namespace {

bool same_samples(const Replicas& a, const Replicas& b) {
  return a.count == b.count && a.micro_batch == b.micro_batch &&
         a.num_micro_batches == b.num_micro_batches && a.last_micro_batch == b.last_micro_batch &&
         a.first_sample == b.first_sample && a.team_step() == b.team_step() &&
         a.micro_batch_step() == b.micro_batch_step();
}

}  // namespace

bool same_teams(const Replicas& a, const Replicas& b) {
  return same_samples(a, b) && a.first == b.first && a.team_stride == b.team_stride &&
         a.tp == b.tp && a.cp == b.cp && a.tensor_stride == b.tensor_stride &&
         a.context_stride == b.context_stride;
}

namespace {

// The last few things looked at: plans repeat a handful of rank sets over and over.
template <class T>
class Recent {
 public:
  // Whether one of them is the same; if not, it is remembered.
  template <class Same>
  bool holds(const T& value, Same same) {
    for (const T* known : last_)
      if (known != nullptr && same(*known, value)) return true;
    last_[next_++ % std::size(last_)] = &value;
    return false;
  }

 private:
  const T* last_[8] = {};
  std::size_t next_ = 0;
};

template <class Same>
bool all_same(const LayerRun& a, const LayerRun& b, Same same) {
  return std::equal(a.replicas.begin(), a.replicas.end(), b.replicas.begin(), b.replicas.end(),
                    same);
}

// Joins virtual stages that share a rank.
class Joined {
 public:
  explicit Joined(int size) : parent_(static_cast<std::size_t>(size)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int root(int i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void join(int a, int b) {
    a = root(a), b = root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

void read_stages(const Placement& placement, Layout& layout) {
  const int num_virtual = placement.runs.back().stage + 1;
  Joined joined(num_virtual);
  Recent<LayerRun> recent;
  for (const LayerRun& run : placement.runs) {
    if (recent.holds(run, [](const LayerRun& a, const LayerRun& b) {
          return a.stage == b.stage && all_same(a, b, same_teams);
        }))
      continue;
    for (const Replicas& r : run.replicas)
      for_each_rank(r, [&](int rank, int) {
        int& stage = layout.stage_of_rank[rank];
        if (stage >= 0) joined.join(stage, run.stage);
        stage = run.stage;
      });
  }
  std::vector<int> physical(static_cast<std::size_t>(num_virtual), -1);
  for (std::size_t i = 0; i < placement.runs.size(); ++i) {
    int& index = physical[joined.root(placement.runs[i].stage)];
    if (index < 0) {
      index = static_cast<int>(layout.stages.size());
      layout.stages.emplace_back();
    }
    layout.stages[index].runs.push_back(static_cast<int>(i));
    layout.stage_of_run.push_back(index);
  }
  for (std::size_t rank = 0; rank < layout.stage_of_rank.size(); ++rank) {
    int& stage = layout.stage_of_rank[rank];
    if (stage < 0) continue;
    stage = physical[joined.root(stage)];
    PhysicalStage& own = layout.stages[stage];
    if (own.lowest_rank < 0) own.lowest_rank = static_cast<int>(rank);
    own.highest_rank = static_cast<int>(rank);
    layout.used[rank] = true;
  }
  layout.pipeline.depth = static_cast<int>(layout.stages.size());
  if (layout.pipeline.depth > 1) layout.pipeline.schedule = placement.schedule;
  layout.pipeline.interleave = static_cast<double>(num_virtual) / layout.pipeline.depth;
}

void read_ranks(const Placement& placement, Layout& layout) {
  Recent<plan::StateShare> recent;
  for (const LayerRun& run : placement.runs)
    for (const plan::StateShare& share : run.state) {
      if (recent.holds(share, [](const plan::StateShare& a, const plan::StateShare& b) {
            return a.num_slices == b.num_slices && a.slice_stride == b.slice_stride &&
                   a.ranks == b.ranks;
          }))
        continue;
      for (const plan::RankRange& range : share.ranks)
        for (int i = 0; i < range.count; ++i)
          for (int s = 0; s < share.num_slices; ++s)
            layout.used[range.first + i * range.stride + s * share.slice_stride] = true;
    }
  layout.lowest_rank = -1;
  for (std::size_t rank = 0; rank < layout.used.size(); ++rank) {
    if (!layout.used[rank]) continue;
    ++layout.num_ranks;
    if (layout.lowest_rank < 0) layout.lowest_rank = static_cast<int>(rank);
    layout.highest_rank = static_cast<int>(rank);
  }
}

std::vector<int> kinds_of(const Replicas& r, int team, const Wires& wires) {
  if (wires.num_kinds() == 1) return {0};
  std::vector<int> kinds;
  for (int c = 0; c < r.cp; ++c)
    for (int t = 0; t < r.tp; ++t) kinds.push_back(wires.kind_of(rank_at(r, team, c, t)));
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

void read_segments(const Placement& placement, Layout& layout) {
  for (PhysicalStage& stage : layout.stages) {
    for (const int run : stage.runs) {
      const auto same_as_before = [&] {
        const LayerRun& before = placement.runs[stage.segments.back().runs.back()];
        return all_same(before, placement.runs[run], same_teams);
      };
      if (stage.segments.empty() || !same_as_before()) stage.segments.emplace_back();
      stage.segments.back().runs.push_back(run);
    }
  }
}

// Calls f(segment, its first run) for every segment.
template <class F>
void for_each_segment(const Placement& placement, Layout& layout, F&& f) {
  for (PhysicalStage& stage : layout.stages)
    for (Segment& segment : stage.segments) f(segment, placement.runs[segment.runs.front()]);
}

// Puts a team into the lane of its signature, or opens one.
class Lanes {
 public:
  // The lane's number, and whether it is new.
  std::pair<std::size_t, bool> of(std::vector<int> signature) {
    const auto [at, fresh] = seen_.emplace(std::move(signature), seen_.size());
    return {at->second, fresh};
  }

 private:
  std::map<std::vector<int>, std::size_t> seen_;
};

void read_lanes(const Placement& placement, const Wires& wires, Layout& layout) {
  const LayerRun& first = placement.runs.front();
  layout.lanes_run_through =
      std::all_of(placement.runs.begin(), placement.runs.end(),
                  [&](const LayerRun& run) { return all_same(first, run, same_samples); });
  const auto add_lane = [&](Segment& segment, const Replicas& r, std::size_t g, int team) {
    segment.lanes.push_back({static_cast<int>(g), team, kinds_of(r, team, wires), {}});
  };
  if (!layout.lanes_run_through || wires.num_kinds() == 1) {
    for_each_segment(placement, layout, [&](Segment& segment, const LayerRun& run) {
      for (std::size_t g = 0; g < run.replicas.size(); ++g) {
        const Replicas& r = run.replicas[g];
        const std::size_t before = segment.lanes.size();
        Lanes lanes;
        if (wires.num_kinds() == 1) {
          add_lane(segment, r, g, 0);
          segment.lanes.back().teams.resize(static_cast<std::size_t>(r.count));
          std::iota(segment.lanes.back().teams.begin(), segment.lanes.back().teams.end(), 0);
          continue;
        }
        for (int team = 0; team < r.count; ++team) {
          const auto [lane, fresh] = lanes.of(kinds_of(r, team, wires));
          if (fresh) add_lane(segment, r, g, team);
          segment.lanes[before + lane].teams.push_back(team);
        }
      }
    });
    return;
  }
  // A lane is a set of teams whose machines are of the same kinds in every segment.
  std::size_t before = 0;
  for (std::size_t g = 0; g < first.replicas.size(); ++g) {
    Lanes lanes;
    for (int team = 0; team < first.replicas[g].count; ++team) {
      std::vector<int> signature;
      for_each_segment(placement, layout, [&](Segment&, const LayerRun& run) {
        for (const int kind : kinds_of(run.replicas[g], team, wires)) signature.push_back(kind);
        signature.push_back(-1);
      });
      const auto [lane, fresh] = lanes.of(std::move(signature));
      for_each_segment(
          placement, layout,
          [&, at = before + lane, opens = fresh](Segment& segment, const LayerRun& run) {
            if (opens) add_lane(segment, run.replicas[g], g, team);
            segment.lanes[at].teams.push_back(team);
          });
    }
    before = layout.stages.front().segments.front().lanes.size();
  }
}

}  // namespace

Layout read_layout(const Placement& placement, const Wires& wires) {
  Layout layout;
  layout.stage_of_rank.assign(static_cast<std::size_t>(wires.num_ranks()), -1);
  layout.used.assign(static_cast<std::size_t>(wires.num_ranks()), false);
  read_stages(placement, layout);
  read_ranks(placement, layout);
  read_segments(placement, layout);
  read_lanes(placement, wires, layout);
  return layout;
}

Rounds rounds_of(const Replicas& r, int depth, const StackOptions& options) {
  const double pieces = options.local_batch_split && depth > 1 ? depth : 1;
  Rounds rounds;
  const bool smaller = r.last_micro_batch > 0 && r.last_micro_batch < r.micro_batch;
  const int full = r.num_micro_batches - (smaller ? 1 : 0);
  if (full > 0) rounds.list[rounds.size++] = {r.micro_batch / pieces, full * pieces};
  if (smaller) rounds.list[rounds.size++] = {r.last_micro_batch / pieces, pieces};
  return rounds;
}

}  // namespace nereus::cost::general
