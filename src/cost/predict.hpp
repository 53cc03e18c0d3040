// The time and memory of one training step of a regular plan, in closed form.
//
//   step = m T + bubble + exposed transfers + exposed data communication + optimizer + host
// with m micro-batches, T the slowest stage's forward + backward (recompute, exposed tensor,
// context and expert communication included), and for 1F1B (Narayanan 2019) bubble = sum of the
// other stages' T; interleaving divides it by the number of virtual stages (Narayanan 2021). A
// stage takes the longer of what its device computes and what its host can launch.
//
//   Predictor predictor(model, cluster, stack);
//   Prediction p = predictor.predict(degrees);   // no allocation; tables of layer costs fill as
//   they are needed
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "cluster/cluster.hpp"
#include "cost/collectives.hpp"
#include "cost/kernels.hpp"
#include "cost/stack.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"

namespace nereus::cost {

// Exposed parts of a step; they sum to `step`.
enum class Part {
  kCompute,
  kRecompute,
  kTensorComm,
  kContextComm,
  kExpertComm,
  kPipelineComm,
  kDataComm,
  kBubble,
  kOptimizer,
  kOffload,
  kInput,
  kLaunch,
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

struct Memory {
  std::array<double, kNumMemoryParts> parts{};  // bytes on the worst rank; sum = total
  double total = 0;
  double first_rank_allocated = 0;  // bytes tensors take on rank 0, which is what many programs log
  double capacity = 0;
  int worst_stage = 0;
};

struct Prediction {
  double step = 0;  // seconds
  std::array<double, kNumParts> parts{};
  Memory memory;
  bool fits = false;
  double model_flops = 0;  // of one step
  double mfu = 0;
  double part(Part p) const { return parts[static_cast<size_t>(p)]; }
};

class Tables;

// `model` must outlive the predictor. `num_splits` is how many distinct (tp, cp, ep, micro-batch,
// ...) splits the tables hold before they grow.
class Predictor {
 public:
  Predictor(const model::Model& model, const cluster::Cluster& cluster, const Stack& stack,
            int num_splits = 64);
  ~Predictor();
  Predictor(Predictor&&) noexcept;

  Prediction predict(const plan::Degrees& degrees);

 private:
  std::unique_ptr<Tables> tables_;
};

}  // namespace nereus::cost
