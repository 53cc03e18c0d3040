// AdamW (Loshchilov 2019, 1711.05101) and SGD on the elements that a rank keeps, in one pass over
// memory.
//
//   AdamW   m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
//           w = w (1 - r d) - r (m / (1 - b1^k)) / (sqrt(v / (1 - b2^k)) + e)      k-th update
//   SGD     u = mu u + g,  w = w - r (u + d w)
//
// r is the learning rate, d the weight decay (for matrices only). Gradients are scaled in the same
// pass, so that their norm over all ranks stays within the clip.
//
//   Optimizer optimizer(training);
//   optimizer.add(state);                               // once per layer
//   const double norm2 = optimizer.square_of_norm();    // this rank's; sum it over all ranks
//   optimizer.update(step, scale);
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "job/job.hpp"
#include "worker/ops/gpu_update.hpp"
#include "worker/state/layer_state.hpp"
#include "worker/state/pieces.hpp"

namespace nereus::worker {

double rate_at(const job::Training& training, std::int64_t step);

// One AdamW update of flat tensors, on CPUs with the Optimizer's code, on a GPU with libtorch's
// fused kernel. `nereus measure` times it.
void update_flat(const at::Tensor& weights, const at::Tensor& gradients, const at::Tensor& first,
                 const at::Tensor& second, const UpdateConstants& constants);

class Optimizer {
 public:
  explicit Optimizer(const job::Training& training) : training_(training) {}
  void add(LayerState& state);
  // Counts each weight once: without copies on other data-parallel and tensor ranks, and without
  // aliases.
  double square_of_norm(Pieces* pieces = nullptr) const;
  // Layer by layer; on a GPU a large layer is updated in parts. With `pieces`, each layer or part
  // waits for its turn.
  void update(std::int64_t step, double scale, Pieces* pieces = nullptr);

  struct Slot {
    LayerState* state = nullptr;
    at::Tensor first;            // m, or the momentum
    at::Tensor second;           // v
    std::vector<Range> decayed;  // of the flat buffer, within owned()
    std::vector<Range> counted;  // counted in the norm
  };
  std::vector<Slot>& slots() { return slots_; }

 private:
  // On a GPU, updates the `part` of the flat buffers in one launch. Also writes the weights for
  // computation, so that store_update() is not needed. Returns false if nothing was done.
  bool update_in_one_launch(std::span<Slot> slots, UpdateConstants c, Range part);
  void update_by_libtorch(std::span<Slot> slots, const UpdateConstants& c, double k, Range part);
  void update_on_host(Slot& slot, UpdateConstants c);

  job::Training training_;
  std::vector<Slot> slots_;
  // By first slot and begin of the part.
  std::map<std::pair<const Slot*, std::int64_t>, GpuUpdate> launches_;
};

}  // namespace nereus::worker
