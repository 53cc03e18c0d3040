#include "worker/execute/stage.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace nereus::worker {

Stage::Stage(const StageWork& work, const model::Model& model,
             const std::vector<std::unique_ptr<Layer>>& layers, std::vector<LayerState*> states,
             HostStore* store)
    : work_(&work),
      model_(&model),
      layers_(&layers),
      states_(std::move(states)),
      store_(work.offload > 0 ? store : nullptr) {
  const int begin = work.first_layer, end = begin + work.num_layers;
  for (const auto& layer : layers)
    for (const int from : layer->inputs) {
      if (from < 0 || layer->index < begin || layer->index >= end) continue;
      const auto [at, is_new] = readers_.try_emplace(from, layer->index, layer->index);
      at->second = {std::min(at->second.first, layer->index),
                    std::max(at->second.second, layer->index)};
    }
  for (const Link& link : work.to) leaving_.insert(link.values.begin(), link.values.end());
}

std::vector<std::int64_t> Stage::value_shape(int layer, std::int64_t num_samples,
                                             const PassContext& pass) const {
  std::vector<std::int64_t> shape = (*layers_)[layer]->output_shape;
  if (pass.sequence_parallel) shape[0] /= pass.tensor_size();
  shape.insert(shape.begin(), num_samples);
  return shape;
}

bool Stage::keeps(int place) const {
  if (work_->recompute != plan::Recompute::kFull) return true;
  if (work_->recompute_layers >= 0 && place >= work_->recompute_layers) return true;
  if (store_) return false;  // a kept graph would hold what is moved
  const model::LayerRole role = model_->layer(work_->first_layer + place).role;
  return role == model::LayerRole::kEmbedding || role == model::LayerRole::kHead;
}

at::Tensor Stage::run_layer(Record& record, int place, std::vector<at::Tensor>& inputs,
                            bool again) const {
  record.pass->recomputing = again;
  const Layer& layer = *(*layers_)[work_->first_layer + place];
  LayerState& state = *states_[place];
  return layer.forward(inputs, state.gathered(), *record.pass);
}

// Offloads an evenly spread share work().offload of all kept values.
bool Stage::is_away(const Record& record, int from) const {
  if (!store_) return false;
  const double number = static_cast<double>(record.number) * (model_->num_layers() - 1) + from;
  return std::floor((number + 1) * work_->offload) > std::floor(number * work_->offload);
}

void Stage::take_value(Record& record, int from, std::vector<at::Tensor>& inputs) const {
  const auto away = record.values_away.find(from);
  const at::Tensor value =
      away == record.values_away.end() ? record.values.at(from) : store_->fetch(away->second);
  inputs.push_back(value.detach().set_requires_grad(true));
}

void Stage::put_inputs(Record& record, int place) const {
  LayerRecord& kept = record.layers[place];
  if (!store_ || kept.output.defined()) return;
  kept.away.resize(kept.inputs.size());
  std::size_t next = 0;
  for (const int from : (*layers_)[work_->first_layer + place]->inputs) {
    if (from < 0) continue;
    const std::size_t i = next++;
    const auto away = record.values_away.find(from);
    if (away != record.values_away.end())
      kept.away[i] = away->second;
    else if (is_away(record, from))
      kept.away[i] = store_->put(kept.inputs[i]);
    if (kept.away[i]) kept.inputs[i].reset();
  }
}

// Frees the values that no later layer reads.
void Stage::forget_values(Record& record, int place) const {
  const Layer& layer = *(*layers_)[work_->first_layer + place];
  for (const int from : layer.inputs) {
    if (from < 0 || readers_.at(from).second != layer.index) continue;
    if (leaving_.count(from) > 0) continue;
    record.values.erase(from);
    record.values_away.erase(from);
  }
}

void Stage::forward_layer(Record& record, int place, bool with_graph) const {
  const Pieces::Turn turn(pieces, piece(place, Pieces::Kind::kForward));
  record.layers.resize(static_cast<std::size_t>(work_->num_layers));
  const Layer& layer = *(*layers_)[work_->first_layer + place];
  LayerRecord& kept = record.layers[place];
  for (const int from : layer.inputs)
    if (from >= 0) take_value(record, from, kept.inputs);
  at::Tensor output;
  if (with_graph || keeps(place)) {
    const at::AutoGradMode graph(true);
    output = kept.output = run_layer(record, place, kept.inputs, false);
  } else {
    const at::NoGradGuard no_graph;
    output = run_layer(record, place, kept.inputs, false);
  }
  if (is_head(place))
    record.loss = output.detach();
  else
    record.values[layer.index] = output.detach();
  put_inputs(record, place);
  forget_values(record, place);
}

void Stage::put_value(Record& record, int place) const {
  const int made = work_->first_layer + place;
  if (!is_away(record, made) || leaving_.count(made) > 0) return;
  const auto value = record.values.find(made);
  if (value == record.values.end()) return;
  record.values_away[made] = store_->put(value->second);
  record.values.erase(value);
}

void Stage::put_gradients(Record& record, int place) const {
  const Layer& layer = *(*layers_)[work_->first_layer + place];
  for (const int from : layer.inputs) {
    // Complete, and not for the stage before.
    if (from < work_->first_layer || readers_.at(from).first != layer.index) continue;
    if (!is_away(record, from)) continue;
    const auto gradient = record.gradients.find(from);
    if (gradient == record.gradients.end()) continue;
    record.gradients_away[from] = store_->put(gradient->second);
    record.gradients.erase(gradient);
  }
}

void Stage::fetch_values(Record& record, int place) const {
  if (!store_) return;
  for (const int from : (*layers_)[work_->first_layer + place]->inputs)
    if (const auto away = record.values_away.find(from); away != record.values_away.end())
      store_->fetch_start(away->second);
}

void Stage::fetch_for_backward(Record& record, int place) const {
  if (!store_) return;
  if (static_cast<std::size_t>(place) < record.layers.size())
    for (const HostStore::Item& item : record.layers[place].away)
      if (item) store_->fetch_start(item);
  const auto away = record.gradients_away.find(work_->first_layer + place);
  if (away != record.gradients_away.end()) store_->fetch_start(away->second);
}

void Stage::forward(Record& record) const {
  for (int place = 0; place < work_->num_layers; ++place) {
    const std::int64_t start = clock_now();
    states_[place]->gather_start();
    if (place + 1 < work_->num_layers) states_[static_cast<std::size_t>(place) + 1]->gather_start();
    forward_layer(record, place);
    states_[place]->release();
    clock_end(place, LayerClock::kForward, start);
  }
}

void Stage::bring_back(LayerRecord& kept) const {
  for (std::size_t i = 0; i < kept.away.size(); ++i)
    if (kept.away[i]) kept.inputs[i] = store_->fetch(kept.away[i]).set_requires_grad(true);
  kept.away.clear();
}

void Stage::recompute(Record& record) const {
  const at::AutoGradMode with_graph(true);
  for (int place = 0; place < work_->num_layers; ++place) {
    LayerRecord& kept = record.layers[place];
    if (kept.output.defined()) continue;
    const Pieces::Turn turn(pieces, piece(place, Pieces::Kind::kRecompute));
    bring_back(kept);
    kept.output = run_layer(record, place, kept.inputs, true);
    states_[place]->release();
  }
}

void Stage::backward_layer(Record& record, int place) const {
  const Pieces::Turn turn(pieces, piece(place, Pieces::Kind::kBackward));
  const Layer& layer = *(*layers_)[work_->first_layer + place];
  LayerState& state = *states_[place];
  LayerRecord& kept = record.layers[place];
  state.begin_backward();
  bring_back(kept);
  if (!kept.output.defined()) {
    const at::AutoGradMode with_graph(true);
    kept.output = run_layer(record, place, kept.inputs, true);
  } else {
    state.gathered();
  }
  at::Tensor gradient;
  if (layer.index == model_->num_layers() - 1) {
    gradient = at::ones_like(kept.output);
  } else if (const auto away = record.gradients_away.find(layer.index);
             away != record.gradients_away.end()) {
    gradient = store_->fetch(away->second);
    record.gradients_away.erase(away);
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
}

void Stage::backward(Record& record, const LayerDone& done) const {
  for (int place = work_->num_layers - 1; place >= 0; --place) {
    const std::int64_t start = clock_now();
    states_[place]->gather_start();
    if (place > 0) states_[static_cast<std::size_t>(place) - 1]->gather_start();
    fetch_for_backward(record, place);
    if (place > 0) fetch_for_backward(record, place - 1);
    backward_layer(record, place);
    states_[place]->release();
    done(*states_[place]);
    clock_end(place, LayerClock::kBackward, start);
  }
}

void Stage::backward_inputs(Record& record) const {
  record.pass->defer_weights = true;
  for (int place = work_->num_layers - 1; place >= 0; --place) {
    backward_layer(record, place);
    states_[place]->release();
  }
}

void Stage::backward_weights(Record& record, const LayerDone& done) const {
  for (std::size_t i = 0; i < record.pass->deferred.size(); ++i) {
    const Pieces::Turn turn(pieces, piece(static_cast<int>(i), Pieces::Kind::kWeights));
    record.pass->deferred[i]();
  }
  record.pass->deferred.clear();
  for (int place = work_->num_layers - 1; place >= 0; --place) done(*states_[place]);
}

}  // namespace nereus::worker
