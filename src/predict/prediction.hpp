// The result of a prediction: seconds of one step by cause, and bytes on the worst rank by purpose.
//
// Invariants: `step` is the sum of `parts`. Each part is exposed time: the step would be this much
// shorter if the part's cause were removed and everything else stayed the same. `memory.total` is
// the sum of `memory.parts`. Both hold up to rounding; a property test checks them.
//
//   Prediction p = predictor.predict(degrees);      // predict/predictor.hpp; for any placement:
//                                                   // predict/general/general_predictor.hpp
//   p.part(Part::kBubble) / p.step;                 // share of the step lost to the bubble
//   p.memory.part(MemoryPart::kActivations);        // bytes
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "plan/degrees.hpp"

namespace nereus::cost {

enum class Part {
  kCompute,
  kRecompute,
  kTensorComm,
  kContextComm,
  kExpertComm,
  kPipelineComm,  // between stages, and between layers on different ranks
  kDataComm,
  kBubble,
  kOptimizer,
  kOffload,
  kInput,
  kLaunch,  // time that the host needs beyond the device's
  kFixed,
};
inline constexpr int kNumParts = 13;
std::string_view to_string(Part part);

enum class MemoryPart {
  kWeights,
  kGradients,
  kOptimizer,
  kActivations,
  kBuffers,
  kLogits,
  kFixed,
  kSlack
};
inline constexpr int kNumMemoryParts = 8;
std::string_view to_string(MemoryPart part);

using MemoryParts = std::array<double, kNumMemoryParts>;

// All numbers are bytes.
struct Memory {
  MemoryParts parts{};  // on the worst rank's device; sum = total
  double total = 0;
  double first_rank_allocated = 0;  // used by tensors on rank 0, which many programs log
  double capacity = 0;              // of the worst rank's device
  // Offloaded bytes of the rank that offloads most, and a rank's share of its node's memory in that
  // tier. If a plan uses several tiers, both are of the fullest one.
  plan::Tier beyond_tier = plan::Tier::kHost;
  double beyond = 0;
  double beyond_capacity = 0;
  int worst_stage = 0;

  double part(MemoryPart p) const { return parts[static_cast<std::size_t>(p)]; }
};

struct Prediction {
  double step = 0;  // seconds
  std::array<double, kNumParts> parts{};
  Memory memory;
  bool fits = false;  // whether every rank fits into its device's memory and its share of the tiers
  double busy = 0;    // seconds of the step in which a device computes, on average
  double model_flops = 0;  // per step
  double mfu = 0;

  double part(Part p) const { return parts[static_cast<std::size_t>(p)]; }
  void add(Part p, double seconds) { parts[static_cast<std::size_t>(p)] += seconds; }
};

}  // namespace nereus::cost
