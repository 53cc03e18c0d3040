// The state of one layer on one rank: a flat buffer of weights, one of gradients, and the part of
// the optimizer's state that this rank keeps, all as element ranges of the same flat buffer.
//
//   flat buffer of slice t:   [ cut parameters, in order | parameters every tensor rank holds ]
//                              0                           replicated_begin              length
//
// Who keeps what is the placement's (worker/state/keeping.hpp): whole copies on every data rank, or
// divided among ranks that compute or only store, in equal parts or not, empty ones too. A rank
// that only stores joins every collective with a buffer that it has for that long. A step of a
// layer:
//
//   gathered()          divided weights are put together (ZeRO-3), else there already
//   .. forward, backward add to gradients() ..
//   reduce_start()      sums over data ranks begin: all-reduce, or reduce-scatter to who keeps what
//   reduce_finish()     own_gradient() is the whole batch's
//   update              worker/state/optimizer.hpp changes own_master(); store_update() writes it
//                       back
//   spread_start()      weights go to whoever computes with them (ZeRO-1 and 2)
//
// A tied weight whose first layer lives on this rank too is an alias of that layer's: it is not in
// this buffer. Where the two layers are apart, its gradient is summed over both before anything
// else.
//
// Leaves that autograd sees share the buffers' memory but not their version counters
// (variable_data), so that filling a buffer anew does not make a graph stale.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "plan/placement.hpp"
#include "worker/comm/uneven_collectives.hpp"
#include "worker/ops/layer.hpp"
#include "worker/state/keeping.hpp"
#include "worker/state/rank_plan.hpp"

namespace nereus::worker {

struct StateOptions {
  at::ScalarType type = at::kFloat;      // of weights in computation
  at::ScalarType sum_type = at::kFloat;  // of gradients and master weights
  at::Device device = at::kCPU;
  std::uint64_t seed = 0;
  bool sequence_parallel = false;
  bool keep_gathered = false;  // divided weights stay together until the step ends
  bool layered = false;  // gathered once a pass, reduced once a step (worker/execute/layered.hpp)
  bool starts_empty = false;  // values come from elsewhere, or by start_afresh()
};

// A weight that a layer elsewhere holds too. `group`: the pair of ranks that hold it for the same
// place among data ranks; none where the executor sums over all who compute either layer.
struct Tied {
  std::string name{};
  std::shared_ptr<Group> group{};
  bool elsewhere = false;
};

// Groups are made on every member in the same order: the executor asks for them stage by stage.
class GroupCache {
 public:
  explicit GroupCache(Comm& comm) : comm_(&comm) {}
  // nullptr for one rank alone. Of the same ranks and another `of` it is another group, whose
  // operations do not wait for those of the first.
  std::shared_ptr<Group> get(const std::vector<int>& ranks, int of = -1);
  Comm& comm() { return *comm_; }
  Traffic traffic() const;  // of all its groups

 private:
  Comm* comm_;
  std::map<std::pair<std::vector<int>, int>, std::shared_ptr<Group>> groups_;
};

class LayerState {
 public:
  // `alias`: where this rank also holds the layer that a weight of this one is tied to.
  LayerState(const Layer& layer, const plan::LayerRun& run, const StageWork& work, int rank,
             const StateOptions& options, GroupCache& groups, LayerState* alias, Tied tied);

  const Layer& layer() const { return *layer_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::int64_t length() const { return length_; }
  std::int64_t replicated_begin() const { return replicated_begin_; }
  int slice() const { return slice_; }
  int num_slices() const { return num_slices_; }
  std::int64_t offset(std::size_t parameter) const { return offsets_[parameter]; }  // -1: alias
  Range owned() const { return owned_; }
  bool first_copy() const { return first_copy_; }  // of owned(): counts in sums over all ranks
  bool divides_weights() const { return divided_weights_; }
  bool divides_gradients() const { return divided_gradients_; }
  // Its reduction waits for another stage, so it comes after all passes.
  bool is_tied_elsewhere() const { return tied_.elsewhere; }
  // Who sums all of gradients() once a step, and nothing before it; nullptr where that is
  // otherwise.
  Group* summed_over() const {
    return divided_optimizer_ || is_tied_elsewhere() || length_ == 0 || !computes_ ? nullptr
                                                                                   : data_.get();
  }
  const at::Tensor& gradients() const { return gradients_; }
  bool computes() const { return computes_; }
  bool is_first_to_compute() const { return computes_ && (!data_ || data_->index() == 0); }
  // Gradients of a parameter on this rank, before any reduction.
  at::Tensor gradient_of(const std::string& parameter) const;

  // Weights as autograd sees them, complete.
  const Weights& gathered();
  void gather_start();      // ahead of its use
  void gather_start_all();  // also of the layer that a weight of this one is tied to
  void release();           // after a use; does nothing where weights are not divided
  void end_step();          // releases what was kept until now
  // Where weights are gathered once a step, what a rank that only stores does for it.
  void join_gather();

  void begin_step();          // gradients are zero
  void begin_backward();      // of one micro-batch: there is a buffer to add to
  void after_backward();      // of one micro-batch: gradients autograd made itself are added
  void reduce_micro_batch();  // divided gradients: sums so far go to who keeps them
  void reduce_start();        // all micro-batches are through
  void reduce_team();         // its first part: what tensor ranks hold in common
  void reduce_wait_own();  // what was started is through and its buffer free; for divided gradients
  void reduce_finish();

  at::Tensor own_gradient() const;  // [owned)
  at::Tensor own_master() const;    // [owned), in sum_type
  void store_update();              // own_master() becomes the weights of [owned)
  // The same in memory; weights where they are not the master itself.
  struct Places {
    void* master = nullptr;
    const void* gradient = nullptr;
    void* weights = nullptr;
    at::ScalarType weights_type = at::kFloat;
  };
  Places places() const;
  void spread_start();
  void start_afresh();  // own_master() becomes the starting values; then store_update()

  // Of the layer's BatchNorm; nullptr where it has none.
  NormStatistics* statistics() const { return statistics_.get(); }
  bool keeps_statistics() const { return is_first_to_compute(); }  // saves them for all

  double gather_wait = 0;  // seconds
  double reduce_wait = 0;

 private:
  void lay_out(LayerState* alias);
  void fill(const StateOptions& options);
  at::Tensor starting_values() const;
  void make_views();
  void find_shards(const Keeping& keeping, const plan::LayerRun& run, int rank, int of,
                   GroupCache& groups);
  void wait_gathered();

  const Layer* layer_;
  std::vector<Parameter> parameters_;
  std::vector<std::int64_t> offsets_;
  LayerState* alias_ = nullptr;
  int slice_ = 0;
  int num_slices_ = 1;
  std::int64_t length_ = 0;
  std::int64_t replicated_begin_ = 0;
  Range owned_{};
  bool first_copy_ = true;
  bool computes_ = true;
  bool divided_optimizer_ = false;
  bool divided_gradients_ = false;  // this rank has a whole buffer for backward passes alone
  bool divided_weights_ = false;    // and one of weights while they are gathered
  bool gathers_ = false;            // weights are divided among the members
  bool reduces_each_ = false;       // micro-batch; else once a step
  StateOptions options_;

  at::Tensor weights_;      // flat, in type; its memory comes and goes where weights are divided
  at::Tensor own_weights_;  // [owned) where weights are divided
  at::Tensor gradients_;    // flat, in sum_type
  at::Tensor own_sum_;      // [owned) where gradients are divided
  at::Tensor master_;       // [owned) where sum_type is wider than type
  Weights views_;
  std::unique_ptr<NormStatistics> statistics_;

  std::shared_ptr<Group> team_;  // tensor ranks, where replicated gradients must be summed
  Tied tied_;
  std::shared_ptr<Group> data_;    // all who compute
  std::shared_ptr<Group> shards_;  // members that hold one whole copy together
  std::shared_ptr<Group> copies_;  // those that keep the same part
  std::vector<Range> ranges_;      // of shards_' members
  Form weights_form_ = Form::kExact;
  Form gradients_form_ = Form::kExact;
  Handle gathering_;
  Handle reducing_;
  bool is_gathered_ = false;
};

}  // namespace nereus::worker
