// What a prediction says: seconds of one step by cause, bytes on the worst rank by purpose.
//
// Invariants: `step` is the sum of `parts`, each of them the exposed time (what a step would lose
// without it, given that all else stays); `memory.total` is the sum of `memory.parts`. Both hold to
// rounding, and a property test says so.
//
//   Prediction p = predictor.predict(degrees);      // predict/predictor.hpp; of any placement:
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
  kPipelineComm,  // between stages, and where samples change ranks from layer to layer
  kDataComm,
  kBubble,
  kOptimizer,
  kOffload,
  kInput,
  kLaunch,  // what the host needs beyond the device
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

// All in bytes.
struct Memory {
  MemoryParts parts{};  // on the worst rank's device; sum = total
  double total = 0;
  double first_rank_allocated = 0;  // what tensors take on rank 0, which is what many programs log
  double capacity = 0;              // of the worst rank's device
  // Offloaded by the rank that offloads most, and a rank's part of its node's memory there; where a
  // plan uses several tiers, of the one that is fullest.
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
  bool fits = false;       // every rank within its own device's memory and its tiers' parts
  double busy = 0;         // seconds of the step in which a device computes, on average
  double model_flops = 0;  // of one step
  double mfu = 0;

  double part(Part p) const { return parts[static_cast<std::size_t>(p)]; }
  void add(Part p, double seconds) { parts[static_cast<std::size_t>(p)] += seconds; }
};

}  // namespace nereus::cost
