// The state of one layer on one rank: a flat buffer of weights, one of gradients, and this rank's
// part of the optimizer state. All of them are addressed by the element positions of one layout:
//
//   flat buffer of slice t:   [ cut parameters, in order | parameters every tensor rank holds ]
//                              0                           replicated_begin              length
//
// The placement decides which ranks keep what (worker/state/keeping.hpp): whole copies on every
// data-parallel rank, or shards on ranks that compute or only store, which may be unequal or empty.
// A rank that only stores joins every collective, with a temporary buffer. The step of a layer is:
//
//   gathered()          all-gathers sharded weights (ZeRO-3), unless they are already there
//   .. forward, backward add to gradients() ..
//   reduce_start()      starts the reduction over data-parallel ranks: an all-reduce, or a
//                       reduce-scatter to the ranks that keep the shards
//   reduce_finish()     own_gradient() is then the gradient of the whole batch
//   update              worker/state/optimizer.hpp changes own_master(); store_update() writes it
//                       back
//   spread_start()      sends weights to the ranks that compute with them (ZeRO-1 and 2)
//
// If the first layer of a tied weight is on this rank too, the weight is an alias of that layer's
// weight, and is not in this buffer. If the two layers are on different ranks, the weight's
// gradient is summed over both layers before any other reduction.
//
// Leaves of autograd share the buffers' memory but not their version counters (variable_data), so
// that refilling a buffer does not invalidate a graph.
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
  at::ScalarType type = at::kFloat;      // type of weights in computation
  at::ScalarType sum_type = at::kFloat;  // type of gradients and master weights
  at::Device device = at::kCPU;
  std::uint64_t seed = 0;
  bool sequence_parallel = false;
  bool keep_gathered = false;  // sharded weights stay gathered until the step ends
  // Weights are gathered once per pass, gradients reduced once per step
  // (worker/execute/layered.hpp).
  bool layered = false;
  bool starts_empty = false;  // values come from elsewhere, or from start_afresh()
};

// A weight that a layer on another rank holds too. `group` is the pair of ranks that hold it at the
// same position among data-parallel ranks; null if the executor sums over all ranks that compute
// either layer.
struct Tied {
  std::string name{};
  std::shared_ptr<Group> group{};
  bool elsewhere = false;
};

// All members must create groups in the same order: the executor requests them stage by stage.
class GroupCache {
 public:
  explicit GroupCache(Comm& comm) : comm_(&comm) {}
  // nullptr for a single rank. The same ranks with another `of` are another group, whose operations
  // do not wait for those of the first.
  std::shared_ptr<Group> get(const std::vector<int>& ranks, int of = -1);
  Comm& comm() { return *comm_; }
  Traffic traffic() const;  // over all its groups

 private:
  Comm* comm_;
  std::map<std::pair<std::vector<int>, int>, std::shared_ptr<Group>> groups_;
};

class LayerState {
 public:
  // `alias` is set if this rank also holds the layer that a weight of this one is tied to.
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
  bool first_copy() const { return first_copy_; }  // whether owned() counts in sums over all ranks
  bool divides_weights() const { return divided_weights_; }
  bool divides_gradients() const { return divided_gradients_; }
  // Whether its reduction waits for another stage, so that it must come after all passes.
  bool is_tied_elsewhere() const { return tied_.elsewhere; }
  // The group that reduces all of gradients() once per step, with no other reduction before it;
  // nullptr if the layer is reduced in another way.
  Group* summed_over() const {
    return divided_optimizer_ || is_tied_elsewhere() || length_ == 0 || !computes_ ? nullptr
                                                                                   : data_.get();
  }
  const at::Tensor& gradients() const { return gradients_; }
  bool computes() const { return computes_; }
  bool is_first_to_compute() const { return computes_ && (!data_ || data_->index() == 0); }
  // The gradient of a parameter on this rank, before any reduction.
  at::Tensor gradient_of(const std::string& parameter) const;

  // The complete weights, as leaves of autograd.
  const Weights& gathered();
  void gather_start();      // prefetches gathered()
  void gather_start_all();  // also for the layer that a weight of this one is tied to
  void release();           // after a use; does nothing if weights are not sharded
  void end_step();          // releases what was kept until now
  // Takes part in the layer's gather on a rank that only stores, if weights are gathered once per
  // step.
  void join_gather();

  void begin_step();          // zeroes the gradients
  void begin_backward();      // per micro-batch: allocates the buffer to add to
  void after_backward();      // per micro-batch: adds gradients that autograd made
  void reduce_micro_batch();  // sharded gradients: sends sums so far to the ranks that keep them
  void reduce_start();        // after all micro-batches
  void reduce_team();         // its first part: sums gradients of replicated parameters
  // Waits for started reductions and frees their buffer; for sharded gradients.
  void reduce_wait_own();
  void reduce_finish();

  at::Tensor own_gradient() const;  // range owned()
  at::Tensor own_master() const;    // range owned(), in sum_type
  void store_update();              // own_master() becomes the weights of owned()
  // The addresses of this state; `weights` is null if the master weights are also used in
  // computation.
  struct Places {
    void* master = nullptr;
    const void* gradient = nullptr;
    void* weights = nullptr;
    at::ScalarType weights_type = at::kFloat;
  };
  Places places() const;
  void spread_start();
  void start_afresh();  // sets own_master() to the starting values; call store_update() next

  // The statistics of the layer's BatchNorm; nullptr if the layer has none.
  NormStatistics* statistics() const { return statistics_.get(); }
  // Whether this rank saves the statistics for all ranks.
  bool keeps_statistics() const { return is_first_to_compute(); }

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
  // The buffer of whole gradients exists only during backward passes.
  bool divided_gradients_ = false;
  bool divided_weights_ = false;  // the buffer of whole weights exists only while they are gathered
  bool gathers_ = false;          // weights are sharded among the members
  bool reduces_each_ = false;     // per micro-batch; else once per step
  StateOptions options_;

  at::Tensor weights_;      // flat, in type; allocated temporarily if weights are sharded
  at::Tensor own_weights_;  // range owned(), if weights are sharded
  at::Tensor gradients_;    // flat, in sum_type
  at::Tensor own_sum_;      // range owned(), if gradients are sharded
  at::Tensor master_;       // range owned(), if sum_type is wider than type
  Weights views_;
  std::unique_ptr<NormStatistics> statistics_;

  std::shared_ptr<Group> team_;  // tensor ranks, if replicated gradients must be summed
  Tied tied_;
  std::shared_ptr<Group> data_;    // all ranks that compute
  std::shared_ptr<Group> shards_;  // members that together hold one whole copy
  std::shared_ptr<Group> copies_;  // members that keep the same part
  std::vector<Range> ranges_;      // of the members of shards_
  Form weights_form_ = Form::kExact;
  Form gradients_form_ = Form::kExact;
  Handle gathering_;
  Handle reducing_;
  bool is_gathered_ = false;
};

}  // namespace nereus::worker
