// Which resource a step waits for most: the exposed seconds of a prediction by what would shorten
// them.
//
//   compute            matrix units: compute and recompute but for the memory-bound share of it
//   memory bandwidth   that share (predict/roofline.hpp), and the optimizer
//   inside links       collectives of groups that fit the fast links of a node
//   network            collectives and messages that leave it
//   far memory         what waits for host or expanded memory
//   bubble             stages that wait for others: more micro-batches, fewer stages
//   host               launches, fixed times, input
//   memory capacity    what the fastest plan that lacks memory would save
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

// `domain`: devices that share the fast links. `beyond`: the quickest step of a plan that lacks
// memory only, where it is quicker than this one; else 0.
ResourceSeconds resource_seconds(const cost::Prediction& prediction, const plan::Degrees& degrees,
                                 const cost::Roofline& roofline, int domain, double beyond);

Resource binding(const ResourceSeconds& seconds);

}  // namespace nereus::explore
