// Which pipelines are looked at: the order of the groups, some left out perhaps, the width, the
// tensor degree and number of stages of each group.
//
//   const Shapes shapes = pipeline_shapes(machines, tensor_degrees);
//   shapes.list;          // at least two stages; micro-batch, recompute and zero at their defaults
//   shapes.every;         // of those that have as many stages as a group's devices make
//
// Orders: all, of up to four groups. Of more, all orders of up to three of the twelve that compute
// most, and the k that compute most by their speed, up and down, all with one tensor degree.
// Stages of a group: any number where shapes are few; else 1, 2, 3, 4, 6, 8, 12, ... and the most;
// where those are too many the most alone; of five groups and more one of each, or the most. Never
// more than kMostShapes.
#pragma once

#include "search/mixed/mixed_pipeline.hpp"

namespace nereus::mixed {

inline constexpr std::size_t kMostShapes = 8192;

struct Shapes {
  std::vector<PipelineManner> list{};
  bool every = true;
};

Shapes pipeline_shapes(Machines& machines, const std::vector<int>& tensor_degrees);

}  // namespace nereus::mixed
