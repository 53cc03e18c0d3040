// What a rank does in a step in addition to its passes: the collectives of stages whose state it
// only stores, and sums of tied weights whose two layers are computed by different numbers of
// ranks.
#include <algorithm>
#include <set>

#include "worker/device/torch_compat.hpp"
#include "worker/execute/executor.hpp"
#include "worker/execute/layered.hpp"

namespace nereus::worker {

// On a thread of their own: they wait for ranks that compute, and this one may compute elsewhere.
void Executor::start_joining() {
  const auto only_stores = [](const StageWork& work) { return !work.computes(); };
  if (std::none_of(mine_.stages.begin(), mine_.stages.end(), only_stores)) return;
  const DeviceMark updated(loss_);
  joining_ = std::async(std::launch::async, [this, updated] {
    use_own_stream(options_.device);
    updated.wait();
    join_stages();
    DeviceMark(loss_).wait();
  });
}

// In the order in which the computing ranks start them: forward through the layers, then back.
void Executor::join_stages() {
  for (const auto& stage : stages_) {
    if (stage->work().computes()) continue;
    if (options_.layered)
      walk_forward(*stage, [](int) {});
    else
      for (LayerState* state : stage->states()) state->join_gather();
  }
  for (auto at = stages_.rbegin(); at != stages_.rend(); ++at) {
    const Stage& stage = **at;
    if (stage.work().computes()) continue;
    const std::vector<LayerState*>& states = stage.states();
    const auto begin = [&](int place) { states[place]->begin_backward(); };
    if (options_.layered) {
      walk_backward(stage, begin);
      continue;
    }
    for (int place = stage.work().num_layers - 1; place >= 0; --place) {
      LayerState& state = *states[place];
      if (state.is_tied_elsewhere()) continue;
      begin(place);
      state.reduce_start();
      state.reduce_wait_own();
    }
  }
}

void Executor::add_wide_tie(const std::string& name, const std::vector<int>& first,
                            const std::vector<int>& second) {
  std::set<int> ranks(first.begin(), first.end());
  ranks.insert(second.begin(), second.end());
  wide_ties_[name] = groups_.get({ranks.begin(), ranks.end()});
}

// Afterwards the first rank that computes a layer has the whole gradient, and the other ranks of
// the layer have zeros, so that the layer's reduction counts it once.
void Executor::sum_wide_ties() {
  for (const auto& [name, group] : wide_ties_) {
    std::vector<LayerState*> holders;
    at::Tensor sum;
    for (const auto& state : states_) {
      const bool here = std::any_of(state->parameters().begin(), state->parameters().end(),
                                    [&](const Parameter& p) { return p.name == name; });
      if (!here || !state->computes()) continue;
      holders.push_back(state.get());
      const at::Tensor gradient = state->gradient_of(name);
      sum = sum.defined() ? sum.add_(gradient) : gradient.clone();
    }
    if (group) group->all_reduce(sum)->wait();
    for (LayerState* state : holders)
      if (state->is_first_to_compute())
        state->gradient_of(name).copy_(sum);
      else
        state->gradient_of(name).zero_();
  }
}

}  // namespace nereus::worker
