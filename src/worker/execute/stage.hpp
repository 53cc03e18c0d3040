// The layers of one stage on this rank, run forward and backward for one micro-batch at a time.
//
// Layers run one by one, each with a graph of its own: its inputs are leaves, its backward pass is
// one call. So a layer's gradients are final as soon as it is through (they can travel while
// earlier layers work), its weights may come and go around it, and whole layers can be computed
// again instead of kept. Values that cross a boundary are named by the layer that made them. A
// gradient that comes from other stages is the first term of its sum: they read the value later.
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
  std::vector<at::Tensor> inputs;     // leaves; undefined while they wait in host memory
  std::vector<HostStore::Item> away;  // as inputs
  at::Tensor output;                  // with its graph; undefined where it is computed again
};

struct Record {
  std::unique_ptr<PassContext> pass;  // graphs point at it
  std::map<int, at::Tensor> values;
  std::map<int, at::Tensor> gradients;
  std::map<int, HostStore::Item> values_away;  // in host memory, by the same names
  std::map<int, HostStore::Item> gradients_away;
  int number = 0;  // of the micro-batch
  std::vector<LayerRecord> layers;
  at::Tensor loss;  // of the last stage
};

class Stage {
 public:
  Stage(const StageWork& work, const model::Model& model,
        const std::vector<std::unique_ptr<Layer>>& layers, std::vector<LayerState*> states,
        HostStore* store = nullptr);  // where the work offloads

  const StageWork& work() const { return *work_; }
  const std::vector<LayerState*>& states() const { return states_; }
  std::vector<std::int64_t> value_shape(int layer, std::int64_t num_samples,
                                        const PassContext& pass) const;

  void forward(Record& record) const;
  // Computes again what forward did not keep; backward does it too where it was not called.
  void recompute(Record& record) const;
  // `done(state)` is called for each layer whose gradients of this micro-batch are complete.
  using LayerDone = std::function<void(LayerState&)>;
  void backward(Record& record, const LayerDone& done) const;
  // The input half alone, then the weight half.
  void backward_inputs(Record& record) const;
  void backward_weights(Record& record, const LayerDone& done) const;

  // One layer of one micro-batch; the caller gathers and releases its weights. `with_graph`: the
  // backward pass comes next.
  void forward_layer(Record& record, int place, bool with_graph = false) const;
  void backward_layer(Record& record, int place) const;
  // Where all micro-batches pass a layer before the next: what a layer made waits in host memory
  // until the next one's turn, and comes back ahead of it.
  void put_value(Record& record, int place) const;
  void put_gradients(Record& record, int place) const;
  void fetch_values(Record& record, int place) const;
  void fetch_for_backward(Record& record, int place) const;
  // Whether the layer is the model's last: its forward and backward pass can be one.
  bool is_head(int place) const { return work_->first_layer + place + 1 == model_->num_layers(); }

  LayerClock* clock = nullptr;  // where somebody wants to know how long layers take
  Pieces* pieces = nullptr;     // where each layer waits for its turn

 private:
  bool keeps(int place) const;  // the layer's graph, from forward to backward
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
      readers_;  // first and last layer of the stage that reads a value
  HostStore* store_ = nullptr;
};

}  // namespace nereus::worker
