// The layers of one stage on this rank, run forward and backward one micro-batch at a time.
//
// Layers run one by one, each with a separate autograd graph: its inputs are leaves, and its
// backward pass is one call. So a layer's gradients are final as soon as its backward pass is done
// (their reduction overlaps with earlier layers), its weights can be gathered and freed around it,
// and whole layers can be recomputed instead of kept. Values that cross a stage boundary are
// identified by the layer that made them. If other stages read a value too, the gradient that they
// send is the first term of the value's gradient sum, because they read the value later.
//
//   Record record = stage.begin(micro_batch, pass);
//   record.values[layer] = received;           // for each value of work().from
//   stage.forward(record);                     // record.values now has each value of work().to
//   record.gradients[layer] = received;        // for each value of work().to
//   stage.backward(record, done);              // record.gradients now has each of work().from
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "worker/state/host_store.hpp"
#include "worker/state/layer_clock.hpp"
#include "worker/state/layer_state.hpp"
#include "worker/state/pieces.hpp"

namespace nereus::worker {

struct LayerRecord {
  std::vector<at::Tensor> inputs;     // leaves; undefined while they are offloaded to host memory
  std::vector<HostStore::Item> away;  // offloaded `inputs`, by the same index
  at::Tensor output;                  // with its graph; undefined if it is recomputed
};

struct Record {
  std::unique_ptr<PassContext> pass;  // graphs point to it
  std::map<int, at::Tensor> values;
  std::map<int, at::Tensor> gradients;
  std::map<int, HostStore::Item> values_away;  // offloaded to host memory, with the same keys
  std::map<int, HostStore::Item> gradients_away;
  int number = 0;  // of the micro-batch
  std::vector<LayerRecord> layers;
  at::Tensor loss;  // only in the last stage
};

class Stage {
 public:
  Stage(const StageWork& work, const model::Model& model,
        const std::vector<std::unique_ptr<Layer>>& layers, std::vector<LayerState*> states,
        HostStore* store = nullptr);  // if the work offloads

  const StageWork& work() const { return *work_; }
  const std::vector<LayerState*>& states() const { return states_; }
  std::vector<std::int64_t> value_shape(int layer, std::int64_t num_samples,
                                        const PassContext& pass) const;

  void forward(Record& record) const;
  // Recomputes what forward() did not keep. If recompute() was not called, backward() does this
  // itself.
  void recompute(Record& record) const;
  // `done(state)` is called for each layer whose gradients of this micro-batch are complete.
  using LayerDone = std::function<void(LayerState&)>;
  void backward(Record& record, const LayerDone& done) const;
  // The backward pass in two calls: the input half, then the weight half.
  void backward_inputs(Record& record) const;
  void backward_weights(Record& record, const LayerDone& done) const;

  // Runs one layer for one micro-batch; the caller must gather and release its weights.
  // `with_graph`: the backward pass follows immediately.
  void forward_layer(Record& record, int place, bool with_graph = false) const;
  void backward_layer(Record& record, int place) const;
  // If all micro-batches pass one layer before the next: offloads the output of a layer to host
  // memory until the next layer needs it, and prefetches it.
  void put_value(Record& record, int place) const;
  void put_gradients(Record& record, int place) const;
  void fetch_values(Record& record, int place) const;
  void fetch_for_backward(Record& record, int place) const;
  // Whether the layer is the model's last: its forward and backward pass can run together.
  bool is_head(int place) const { return work_->first_layer + place + 1 == model_->num_layers(); }

  LayerClock* clock = nullptr;  // if the times of layers are measured
  Pieces* pieces = nullptr;     // if each layer waits for its turn

 private:
  bool keeps(int place) const;  // whether the layer's graph is kept from forward to backward
  at::Tensor run_layer(Record& record, int place, std::vector<at::Tensor>& inputs,
                       bool again) const;
  bool is_away(const Record& record, int from) const;
  void put_inputs(Record& record, int place) const;
  void take_value(Record& record, int from, std::vector<at::Tensor>& inputs) const;
  void forget_values(Record& record, int place) const;
  void bring_back(LayerRecord& kept) const;
  Pieces::Key piece(int place, Pieces::Kind kind) const {
    return Pieces::key(work_->first_layer + place, kind);
  }
  std::int64_t clock_now() const { return clock ? clock->now() : 0; }
  void clock_end(int place, LayerClock::What what, std::int64_t start) const {
    if (clock) clock->end(work_->first_layer + place, what, start);
  }

  const StageWork* work_;
  const model::Model* model_;
  const std::vector<std::unique_ptr<Layer>>* layers_;
  std::vector<LayerState*> states_;
  std::set<int> leaving_;  // values that other stages read
  std::map<int, std::pair<int, int>>
      readers_;  // first and last layer of the stage that read a value
  HostStore* store_ = nullptr;
};

}  // namespace nereus::worker
