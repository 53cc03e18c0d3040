#include "worker/stage.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"

namespace nereus::worker {

Stage::Stage(const StageWork& work, const model::Model& model,
             const std::vector<std::unique_ptr<Layer>>& layers, std::vector<LayerState*> states)
    : work_(&work), model_(&model), layers_(&layers), states_(std::move(states)) {
  const int begin = work.first_layer, end = begin + work.num_layers;
  std::set<int> entering, leaving;
  for (const auto& layer : layers)
    for (const int from : layer->inputs) {
      if (from < 0) continue;
      if (from < begin && layer->index >= begin) entering.insert(from);
      if (from < end && layer->index >= end) leaving.insert(from);
    }
  entering_.assign(entering.begin(), entering.end());
  leaving_.assign(leaving.begin(), leaving.end());
}

std::vector<std::int64_t> Stage::value_shape(int layer, std::int64_t num_samples,
                                             const PassContext& pass) const {
  std::vector<std::int64_t> shape = (*layers_)[static_cast<std::size_t>(layer)]->output_shape;
  if (pass.sequence_parallel) shape[0] /= pass.tensor_size();
  shape.insert(shape.begin(), num_samples);
  return shape;
}

bool Stage::keeps(int place) const {
  if (work_->recompute != plan::Recompute::kFull) return true;
  if (work_->recompute_layers >= 0 && place >= work_->recompute_layers) return true;
  const model::LayerRole role = model_->layer(work_->first_layer + place).role;
  return role == model::LayerRole::kEmbedding || role == model::LayerRole::kHead;
}

at::Tensor Stage::run_layer(Record& record, int place, std::vector<at::Tensor>& inputs,
                            bool again) const {
  record.pass->recomputing = again;
  const Layer& layer = *(*layers_)[static_cast<std::size_t>(work_->first_layer + place)];
  LayerState& state = *states_[static_cast<std::size_t>(place)];
  return layer.forward(inputs, state.gathered(), *record.pass);
}

void Stage::forward(Record& record) const {
  record.layers.resize(static_cast<std::size_t>(work_->num_layers));
  for (int place = 0; place < work_->num_layers; ++place) {
    const Layer& layer = *(*layers_)[static_cast<std::size_t>(work_->first_layer + place)];
    LayerRecord& kept = record.layers[static_cast<std::size_t>(place)];
    for (const int from : layer.inputs)
      if (from >= 0) kept.inputs.push_back(record.values.at(from).detach().set_requires_grad(true));
    states_[static_cast<std::size_t>(place)]->gather_start();
    if (place + 1 < work_->num_layers) states_[static_cast<std::size_t>(place) + 1]->gather_start();
    at::Tensor output;
    if (keeps(place)) {
      const at::AutoGradMode with_graph(true);
      output = kept.output = run_layer(record, place, kept.inputs, false);
    } else {
      const at::NoGradGuard no_graph;
      output = run_layer(record, place, kept.inputs, false);
    }
    record.values[layer.index] = output.detach();
    states_[static_cast<std::size_t>(place)]->release();
  }
  const int end = work_->first_layer + work_->num_layers;
  if (end == model_->num_layers()) record.loss = record.values.at(end - 1);
  // What no later stage reads is in the graphs already.
  for (auto at = record.values.begin(); at != record.values.end();)
    at = std::binary_search(leaving_.begin(), leaving_.end(), at->first) ? std::next(at)
                                                                         : record.values.erase(at);
}

void Stage::recompute(Record& record) const {
  const at::AutoGradMode with_graph(true);
  for (int place = 0; place < work_->num_layers; ++place) {
    LayerRecord& kept = record.layers[static_cast<std::size_t>(place)];
    if (kept.output.defined()) continue;
    kept.output = run_layer(record, place, kept.inputs, true);
    states_[static_cast<std::size_t>(place)]->release();
  }
}

void Stage::backward_layer(Record& record, int place) const {
  const Layer& layer = *(*layers_)[static_cast<std::size_t>(work_->first_layer + place)];
  LayerState& state = *states_[static_cast<std::size_t>(place)];
  LayerRecord& kept = record.layers[static_cast<std::size_t>(place)];
  state.begin_backward();
  if (!kept.output.defined()) {
    const at::AutoGradMode with_graph(true);
    kept.output = run_layer(record, place, kept.inputs, true);
  } else {
    state.gathered();
  }
  at::Tensor gradient;
  if (layer.index == model_->num_layers() - 1) {
    gradient = at::ones_like(kept.output);
  } else {
    const auto at = record.gradients.find(layer.index);
    NEREUS_CHECK(at != record.gradients.end(), "every value is read by some layer");
    gradient = std::move(at->second);
    record.gradients.erase(at);
  }
  // A user's module may change the sample before anything learns.
  if (kept.output.requires_grad()) torch::autograd::backward({kept.output}, {gradient});
  std::size_t next = 0;
  for (const int from : layer.inputs) {
    if (from < 0) continue;
    const at::Tensor& input = kept.inputs[next++];
    const at::Tensor made = input.grad().defined() ? input.grad() : at::zeros_like(input);
    at::Tensor& sum = record.gradients[from];
    sum = sum.defined() ? sum + made : made;
  }
  kept = LayerRecord{};
  state.after_backward();
  state.release();
}

void Stage::backward(Record& record, const LayerDone& done) const {
  for (int place = work_->num_layers - 1; place >= 0; --place) {
    states_[static_cast<std::size_t>(place)]->gather_start();
    if (place > 0) states_[static_cast<std::size_t>(place) - 1]->gather_start();
    backward_layer(record, place);
    done(*states_[static_cast<std::size_t>(place)]);
  }
}

void Stage::backward_inputs(Record& record) const {
  record.pass->defer_weights = true;
  for (int place = work_->num_layers - 1; place >= 0; --place) backward_layer(record, place);
}

void Stage::backward_weights(Record& record, const LayerDone& done) const {
  for (const auto& half : record.pass->deferred) half();
  record.pass->deferred.clear();
  for (int place = work_->num_layers - 1; place >= 0; --place)
    done(*states_[static_cast<std::size_t>(place)]);
}

}  // namespace nereus::worker
