// The layers of one stage on this rank, run forward and backward for one micro-batch at a time.
//
// Layers run one by one, each with a graph of its own: its inputs are leaves, its backward pass is
// one call. So a layer's gradients are final as soon as it is through (they can travel while
// earlier layers work), its weights may come and go around it, and whole layers can be computed
// again instead of kept. Values that cross a boundary are named by the layer that made them; a
// value that a later stage reads passes through those between.
//
//   Record record = stage.begin(micro_batch, pass);
//   record.values[layer] = received;           // for each of stage.entering()
//   stage.forward(record);                     // record.values now has each of stage.leaving()
//   record.gradients[layer] = received;        // for each of stage.leaving()
//   stage.backward(record, done);              // record.gradients now has each of stage.entering()
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "worker/layer_state.hpp"

namespace nereus::worker {

struct LayerRecord {
  std::vector<at::Tensor> inputs;  // leaves
  at::Tensor output;               // with its graph; undefined where it is computed again
};

struct Record {
  std::unique_ptr<PassContext> pass;  // graphs point at it
  std::map<int, at::Tensor> values;
  std::map<int, at::Tensor> gradients;
  std::vector<LayerRecord> layers;
  at::Tensor loss;  // of the last stage
};

class Stage {
 public:
  Stage(const StageWork& work, const model::Model& model,
        const std::vector<std::unique_ptr<Layer>>& layers, std::vector<LayerState*> states);

  const StageWork& work() const { return *work_; }
  const std::vector<LayerState*>& states() const { return states_; }
  const std::vector<int>& entering() const { return entering_; }
  const std::vector<int>& leaving() const { return leaving_; }
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

 private:
  bool keeps(int place) const;  // the layer's graph, from forward to backward
  at::Tensor run_layer(Record& record, int place, std::vector<at::Tensor>& inputs,
                       bool again) const;
  void backward_layer(Record& record, int place) const;

  const StageWork* work_;
  const model::Model* model_;
  const std::vector<std::unique_ptr<Layer>>* layers_;
  std::vector<LayerState*> states_;
  std::vector<int> entering_;
  std::vector<int> leaving_;
};

}  // namespace nereus::worker
