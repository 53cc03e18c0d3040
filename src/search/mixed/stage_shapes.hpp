// Which pipelines are tried: the order of the groups (some may be left out), the width, and the
// tensor degree and number of stages of each group.
//
//   const Shapes shapes = pipeline_shapes(machines, tensor_degrees);
//   shapes.list;          // at least two stages; micro-batch, recompute and zero at their defaults
//   shapes.every;         // whether the list has all shapes
//
// Orders: with up to four groups, all orders. With more, all orders of up to three of the twelve
// groups with the most compute; and the k groups with the most compute sorted by speed, ascending
// and descending, all with one tensor degree. Stages of a group: any number if there are few
// shapes, else 1, 2, 3, 4, 6, 8, 12, ... and the maximum; if these are too many, only the maximum;
// with five groups or more, one stage per group, or the maximum. There are never more than
// kMostShapes shapes.
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
