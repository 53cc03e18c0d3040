// A layer of the model as the worker runs it: a list of parameters, and a forward function of its
// inputs and weight slices. Layers hold no weights: the executor passes views of the layer's flat
// buffer (worker/state/layer_state.hpp), which may have been gathered just before.
//
// Every layer is one node of model::Model, with the same index and edges. Autograd runs its
// backward pass layer by layer, so that a layer's gradients are final when its backward pass ends,
// and their reduction can overlap with the backward passes of earlier layers.
//
//   std::vector<std::unique_ptr<Layer>> layers = build_layers(plan.model);
//   at::Tensor out = layers[i]->forward(inputs, weights, pass);
//
// The gradient of a matrix is added directly to the flat gradient buffer (ops/linear.hpp). The pass
// decides when: at once, or when the schedule runs the weight half of the backward pass.
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

// The samples of one micro-batch.
struct Batch {
  at::Tensor inputs;              // tokens [n, s] or images [n, 3, h, w]
  at::Tensor targets;             // tokens [n, s] or classes [n]
  at::Tensor positions{};         // [n, m], the positions of targets [n, m]; undefined: all
  std::int64_t first_sample = 0;  // index in the step
  std::int64_t num_samples = 0;
};

// The BatchNorm of a layer, with the module's name, for its buffers.
struct NormOf {
  std::string name;  // "bn1": bn1.running_mean, bn1.running_var, bn1.num_batches_tracked
  std::int64_t channels = 0;
  double momentum = 0.1;
};

// The state of BatchNorm besides weights; equal on every rank that computes the layer.
struct NormStatistics {
  NormOf of;
  at::Tensor running;  // [2, c]: means, variances
  at::Tensor step;     // [2, c]: this rank's terms of the current step (ops/batch_norm.hpp)
  std::int64_t num_batches = 0;
};

// A layer's weights on this rank, and the destinations of their gradients; both in the order of
// parameters().
struct Weights {
  std::vector<at::Tensor> values;     // leaves of autograd
  std::vector<at::Tensor> gradients;  // views of the flat gradient buffer
  NormStatistics* statistics = nullptr;
};

// How BatchNorm divides the samples of a step into groups, from the view of one micro-batch.
struct NormGroups {
  std::int64_t samples = 0;  // per group; 0 = the micro-batch
  std::int64_t first = 0;    // index of the micro-batch's first group in the step
  std::int64_t total = 1;    // number of groups in the step
  Group* sync = nullptr;     // ranks whose samples are one group; nullptr = only this rank
};

// One pass of one micro-batch through a stage. It lives from the start of forward to the end of
// backward.
struct PassContext {
  Batch batch;
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  double dropout = 0;
  double loss_scale = 1;    // 1 / number of targets in the whole step
  Group* tensor = nullptr;  // the team that shares this layer; nullptr = no team
  bool sequence_parallel = false;
  NormGroups norm{};
  bool recomputing = false;          // this forward pass is a recompute: it was counted before
  bool recompute_attention = false;  // attention scores are computed again in the backward pass
  // Whether weight halves of backward passes are kept for the schedule's weight pass; otherwise
  // they run at once.
  bool defer_weights = false;
  std::vector<std::function<void()>> deferred;
  // Limit of operations per matrix product of the model's head, so that another job that waits for
  // the device gets it between two products; 0: no limit.
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
  // The whole starting value of parameters()[parameter]; by default from the seed and its name
  // (parameter.hpp).
  virtual at::Tensor starting_value(std::size_t parameter, std::uint64_t seed) const {
    return initial_value(parameters()[parameter], seed);
  }
  virtual at::Tensor forward(const std::vector<at::Tensor>& inputs, const Weights& weights,
                             PassContext& pass) const = 0;
  // Shape of the output for one sample, as the next stage receives it. Sequence parallelism divides
  // its first dim.
  std::vector<std::int64_t> output_shape;
  std::vector<int> inputs;  // layers it reads; -1 = the samples
  int index = 0;            // in model::Model::layers
};

// Throws Errors if the worker does not support a layer (experts, state-space, tables ...).
std::vector<std::unique_ptr<Layer>> build_layers(const model::Model& model);

}  // namespace nereus::worker
