// Pipelines whose stages are on different kinds of machine: each group of devices has some
// consecutive stages, all `width` teams wide, and the groups may be in any order. Layers are
// divided so that the slowest stage is as fast as possible:
//
//   minimize  max over stages s of  sum of its layers' seconds on its kind of device
//
// with a table over (stages, layers), which is exact for the time of a stage. Memory is not in the
// table: if a stage is too full, its number of layers is limited, and the problem is solved again.
//
//   for (const PipelineManner& shape :
//        pipeline_shapes(machines, tensor_degrees).list)   // search/mixed/stage_shapes.hpp
//     if (auto placement = best_pipeline(machines, shape, room)) ...
#pragma once

#include <optional>

#include "search/mixed/machines.hpp"

namespace nereus::mixed {

// Consecutive stages of one group.
struct StageBlock {
  int group = 0;
  int tp = 1;
  int stages = 1;
  bool operator==(const StageBlock&) const = default;
};

struct PipelineManner {
  std::vector<StageBlock> blocks{};  // from the first layers to the last
  int width = 1;                     // teams per stage
  int micro_batch = 1;
  plan::Recompute recompute = plan::Recompute::kNone;
  int zero = 0;  // 0 or 1
  int depth() const;
  bool operator==(const PipelineManner&) const = default;
};

// The first layer of each stage, followed by the number of layers, such that the slowest stage is
// as fast as possible. Stage s has at most limits[s] layers. Empty if that is impossible.
// seconds[s] has the seconds of all layers on stage s.
std::vector<int> divide_layers(const std::vector<const std::vector<double>*>& seconds,
                               const std::vector<int>& limits);

// A lower bound of the time for every division of layers: as if layers could be cut anywhere, so
// that all stages take equally long, plus the time of the first micro-batch through all layers on
// the fastest kind.
double pipeline_bound(Machines& machines, const PipelineManner& manner);
std::optional<plan::Placement> best_pipeline(Machines& machines, const PipelineManner& manner,
                                             double room);

}  // namespace nereus::mixed
