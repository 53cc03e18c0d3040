// The resource that limits a step most: assigns the exposed seconds of a prediction to the
// resources that would shorten them.
//
//   compute            matrix units: compute and recompute except their memory-bound share
//   memory bandwidth   the memory-bound share (predict/roofline.hpp), and the optimizer
//   inside links       collectives of groups that fit into the fast links of a node
//   network            collectives and messages between nodes
//   far memory         waits for host or expanded memory
//   bubble             stages that wait for others: needs more micro-batches or fewer stages
//   host               launches, fixed times, input
//   memory capacity    the time that the fastest plan that lacks memory would save
//
//   const ResourceSeconds s = resource_seconds(prediction, degrees, roofline, domain, beyond);
//   binding(s);
#pragma once

#include <array>
#include <string_view>

#include "plan/degrees.hpp"
#include "predict/prediction.hpp"
#include "predict/roofline.hpp"

namespace nereus::explore {

enum class Resource {
  kCompute,
  kMemoryBandwidth,
  kInsideLinks,
  kNetwork,
  kFarMemory,
  kBubble,
  kHost,
  kMemoryCapacity,
};
inline constexpr int kNumResources = 8;
std::string_view to_string(Resource resource);

using ResourceSeconds = std::array<double, kNumResources>;

// `domain`: number of devices that share the fast links. `beyond`: the fastest step of a plan that
// only lacks memory, if it is faster than this one; else 0.
ResourceSeconds resource_seconds(const cost::Prediction& prediction, const plan::Degrees& degrees,
                                 const cost::Roofline& roofline, int domain, double beyond);

Resource binding(const ResourceSeconds& seconds);

}  // namespace nereus::explore
