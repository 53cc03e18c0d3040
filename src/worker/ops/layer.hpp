// A layer of the model as the worker runs it: a list of parameters, and a forward function of its
// inputs and their slices. Layers hold no weights: the executor hands them views of the layer's
// flat buffer (worker/state/layer_state.hpp), which may have been put together just before.
//
// Every layer is one node of model::Model: the same index, the same edges. Its backward pass is
// autograd's, run layer by layer, so that gradients of a layer are final as soon as it is through:
// they can be reduced while the layers before it still work.
//
//   std::vector<std::unique_ptr<Layer>> layers = build_layers(plan.model);
//   at::Tensor out = layers[i]->forward(inputs, weights, pass);
//
// What a gradient of a weight is added to is the pass's business: matrices add their products to
// the flat buffer themselves (ops/linear.hpp), at once or when the schedule asks
// for the weight half of the backward pass.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/model.hpp"
#include "worker/comm/comm.hpp"
#include "worker/device/torch.hpp"
#include "worker/ops/parameter.hpp"

namespace nereus::worker {

// What the samples of one micro-batch are.
struct Batch {
  at::Tensor inputs;              // tokens [n, s] or images [n, 3, h, w]
  at::Tensor targets;             // tokens [n, s] or classes [n]
  at::Tensor positions{};         // [n, m] of targets [n, m]; undefined: all positions
  std::int64_t first_sample = 0;  // of the step
  std::int64_t num_samples = 0;
};

// The BatchNorm of a layer: the module's name, for its buffers.
struct NormOf {
  std::string name;  // "bn1": bn1.running_mean, bn1.running_var, bn1.num_batches_tracked
  std::int64_t channels = 0;
  double momentum = 0.1;
};

// What BatchNorm keeps beside weights; the same on every rank that computes the layer.
struct NormStatistics {
  NormOf of;
  at::Tensor running;  // [2, c]: means, variances
  at::Tensor step;     // [2, c]: this rank's terms of the running step (ops/batch_norm.hpp)
  std::int64_t num_batches = 0;
};

// A layer's weights on this rank, and where their gradients go; both in the order of parameters().
struct Weights {
  std::vector<at::Tensor> values;     // leaves that autograd knows
  std::vector<at::Tensor> gradients;  // views of the flat gradient buffer
  NormStatistics* statistics = nullptr;
};

// How BatchNorm divides the samples of a step, as one micro-batch sees it.
struct NormGroups {
  std::int64_t samples = 0;  // of a group; 0 = the micro-batch
  std::int64_t first = 0;    // the micro-batch's first group among those of the step
  std::int64_t total = 1;    // groups of the step
  Group* sync = nullptr;     // ranks whose samples are one group; nullptr = this one alone
};

// One pass of one micro-batch through a stage. Lives from its forward to the end of its backward.
struct PassContext {
  Batch batch;
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  double dropout = 0;
  double loss_scale = 1;    // 1 / targets of the whole step
  Group* tensor = nullptr;  // the team that shares this layer; nullptr = alone
  bool sequence_parallel = false;
  NormGroups norm{};
  bool recomputing = false;          // this forward is done again: it has been counted
  bool recompute_attention = false;  // its scores are computed again in the backward pass
  // Weight halves of backward passes: run at once, or kept for the schedule's weight pass.
  bool defer_weights = false;
  std::vector<std::function<void()>> deferred;
  // Of one product of a head, where another job waits for the device in between; 0: any number.
  double most_operations = 0;
  double* tensor_wait = nullptr;  // seconds in collectives inside layers are added here

  int tensor_size() const { return tensor ? tensor->size() : 1; }
  int tensor_index() const { return tensor ? tensor->index() : 0; }
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual std::vector<Parameter> parameters() const { return {}; }
  virtual std::optional<NormOf> norm() const { return std::nullopt; }
  // Of parameters()[parameter], whole; by default from the seed and its name (parameter.hpp).
  virtual at::Tensor starting_value(std::size_t parameter, std::uint64_t seed) const {
    return initial_value(parameters()[parameter], seed);
  }
  virtual at::Tensor forward(const std::vector<at::Tensor>& inputs, const Weights& weights,
                             PassContext& pass) const = 0;
  // Of one sample: what the next stage receives. Sequence parallelism divides its first dim.
  std::vector<std::int64_t> output_shape;
  std::vector<int> inputs;  // layers it reads; -1 = the samples
  int index = 0;            // in model::Model::layers
};

// Throws Errors where the worker has no such layer (experts, state-space, tables ...).
std::vector<std::unique_ptr<Layer>> build_layers(const model::Model& model);

}  // namespace nereus::worker
