// How a placement's runs lie in time and space, before anything is costed.
//
//   stage     virtual stages that share a rank are one physical stage (its ranks take turns); the
//             physical stages are the pipeline's depth
//   segment   consecutive runs of a physical stage with the same teams and samples: one after the
//             other on the same ranks, nothing moves in between
//   lane      teams of a segment that act alike: same shape, samples and kinds of machine. Where
//             every run hands out the samples alike, a lane is followed through all stages: it
//             waits for the others only where state is reduced. Elsewhere (burst, other data width
//             from stage to stage) the lanes of a segment wait for each other at its end.
//
//   Layout layout = read_layout(placement, wires, options);
//   for (const PhysicalStage& stage : layout.stages) ...
#pragma once

#include <vector>

#include "cost/pipeline_time.hpp"
#include "cost/wires.hpp"
#include "plan/placement.hpp"
#include "stack/stack.hpp"

namespace nereus::cost::general {

inline int rank_at(const plan::Replicas& r, int team, int context, int tensor) {
  return r.first + team * r.team_stride + context * r.context_stride + tensor * r.tensor_stride;
}

template <class F>
void for_each_rank(const plan::Replicas& r, F&& f) {
  for (int team = 0; team < r.count; ++team)
    for (int c = 0; c < r.cp; ++c)
      for (int t = 0; t < r.tp; ++t) f(rank_at(r, team, c, t), team);
}

// The same ranks compute the same samples.
bool same_teams(const plan::Replicas& a, const plan::Replicas& b);

struct Lane {
  int replicas = 0;        // index into each run's list
  int team = 0;            // stands for all of the lane
  std::vector<int> kinds;  // of machine, that its ranks are
  std::vector<int> teams;  // all of them
};

inline const plan::Replicas& replicas_of(const plan::LayerRun& run, const Lane& lane) {
  return run.replicas[static_cast<std::size_t>(lane.replicas)];
}

// What is recomputed of the layer at that position in its run.
inline plan::Recompute recompute_at(const plan::Replicas& r, int position) {
  return r.recompute_layers < 0 || position < r.recompute_layers ? r.recompute
                                                                 : plan::Recompute::kNone;
}

struct Segment {
  std::vector<int> runs;
  std::vector<Lane> lanes;
};

struct PhysicalStage {
  std::vector<int> runs;
  std::vector<Segment> segments;
  int lowest_rank = -1;
  int highest_rank = -1;
};

struct Layout {
  PipelineShape pipeline;
  std::vector<PhysicalStage> stages;
  std::vector<int> stage_of_run;   // physical
  std::vector<int> stage_of_rank;  // physical; -1 for ranks that compute nothing
  bool lanes_run_through = false;
  int num_ranks = 0;     // that compute or store
  int lowest_rank = 0;   // of them
  int highest_rank = 0;  // of them
  std::vector<bool> used;
};

Layout read_layout(const plan::Placement& placement, const Wires& wires);

// `count` micro-batches of `samples` each.
struct Round {
  double samples = 0;
  double count = 0;
};
// One or two of them: the last micro-batch may be smaller. A stack whose pipeline cuts the local
// batch itself gives `depth` pieces of each.
struct Rounds {
  Round list[2];
  int size = 0;
  double count() const { return list[0].count + (size > 1 ? list[1].count : 0); }
};
Rounds rounds_of(const plan::Replicas& replicas, int depth, const StackOptions& options);

}  // namespace nereus::cost::general
