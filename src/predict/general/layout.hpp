// Where and when a placement's runs execute, before their costs are computed.
//
//   stage     virtual stages that share a rank are one physical stage (its ranks run them in turn).
//             The number of physical stages is the pipeline's depth
//   segment   consecutive runs of a physical stage with the same teams and samples: they run one
//             after the other on the same ranks, and no samples move in between
//   lane      teams of a segment with the same shape, samples and kinds of machine, which therefore
//             behave alike. If all runs distribute the samples in the same way, a lane is followed
//             through all stages: it waits for other lanes only when state is reduced. Otherwise
//             (burst, data-parallel widths that differ between stages) the lanes of a segment wait
//             for each other at its end.
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

// Whether the same ranks compute the same samples.
bool same_teams(const plan::Replicas& a, const plan::Replicas& b);

struct Lane {
  int replicas = 0;        // index in each run's list
  int team = 0;            // a team that represents all teams of the lane
  std::vector<int> kinds;  // kinds of machine of its ranks
  std::vector<int> teams;  // all teams of the lane
};

inline const plan::Replicas& replicas_of(const plan::LayerRun& run, const Lane& lane) {
  return run.replicas[lane.replicas];
}

// The recompute mode of the layer at this position in its run.
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
  int num_ranks = 0;     // ranks that compute or store
  int lowest_rank = 0;   // of the ranks that compute or store
  int highest_rank = 0;  // of the ranks that compute or store
  std::vector<bool> used;
};

Layout read_layout(const plan::Placement& placement, const Wires& wires);

// `count` micro-batches with `samples` samples each.
struct Round {
  double samples = 0;
  double count = 0;
};
// One or two rounds, since the last micro-batch may be smaller. If the stack's pipeline cuts the
// local batch itself, `depth` smaller micro-batches replace each micro-batch.
struct Rounds {
  Round list[2];
  int size = 0;
  double count() const { return list[0].count + (size > 1 ? list[1].count : 0); }
};
Rounds rounds_of(const plan::Replicas& replicas, int depth, const StackOptions& options);

}  // namespace nereus::cost::general
