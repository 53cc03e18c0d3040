// Pipelines whose stages are of different kinds of machine: each group of devices takes some
// consecutive stages, all `width` teams wide, in any order of the groups; layers are divided so
// that the slowest stage is as quick as can be.
//
//   least  max over stages s of  sum of its layers' seconds on its kind of device
//
// by a table over (stages, layers): exact for the time of a stage. Memory is not in the table:
// stages that are too full are given fewer layers at most, and it is solved again.
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
  int width = 1;                     // teams of each stage
  int micro_batch = 1;
  plan::Recompute recompute = plan::Recompute::kNone;
  int zero = 0;  // 0 or 1
  int depth() const;
  bool operator==(const PipelineManner&) const = default;
};

// The first layers of the stages and the end, the slowest stage as quick as can be; stage s has at
// most limits[s] layers. Empty where that is impossible. seconds[s] are those of all layers on s.
std::vector<int> divide_layers(const std::vector<const std::vector<double>*>& seconds,
                               const std::vector<int>& limits);

// No division of layers gives a quicker step: layers cut anywhere, so that all stages take alike;
// and the first micro-batch once through on the fastest kind.
double pipeline_bound(Machines& machines, const PipelineManner& manner);
std::optional<plan::Placement> best_pipeline(Machines& machines, const PipelineManner& manner,
                                             double room);

}  // namespace nereus::mixed
