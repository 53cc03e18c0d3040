// One rank of a job: builds the layers of its stages, and runs steps in the order of the plan.
//
// A step consists of the rank's passes (RankPlan::order). Inputs of the next passes are requested
// ahead, so that communication overlaps with computation; outputs are sent as soon as they are
// ready. The gradient reduction of a layer starts after its last micro-batch, with small layers
// combined (gradient_buckets.hpp). Then comes the update: the norm over all ranks, the update of
// each element on the rank that keeps it, and the broadcast of the weights to the ranks that
// compute with them, which overlaps with the first layers of the next step.
//
// Varuna's schedule is opportunistic (Athlur 2022): if the next pass is a recompute whose gradient
// has not arrived, and the input of the next forward pass has, the forward pass runs first. A
// forward pass is pulled ahead like this only while the rank holds fewer micro-batches than the
// peak of its fixed order, so that memory stays within the plan. Backward passes keep their order,
// so every sum keeps the order of its terms, and the result is bit-equal to that of the fixed
// order. The ranks of a team choose together. If passes contain collectives over data-parallel
// ranks (sharded weights and gradients, synchronous norms), the order is not changed.
//
//   Executor executor(job, comm, samples);
//   for (step ...) StepResult r = executor.run(step);      // r.loss is over all ranks
//
// Every rank of the job gets the same loss: the sum of the cross entropies of all targets, divided
// by their number.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>

#include "job/job.hpp"
#include "job/message.hpp"
#include "timeline/timeline.hpp"
#include "worker/comm/comm.hpp"
#include "worker/device/gpu.hpp"
#include "worker/device/torch_compat.hpp"
#include "worker/execute/cut_graph.hpp"
#include "worker/execute/stage.hpp"
#include "worker/state/gradient_buckets.hpp"
#include "worker/state/norm_groups.hpp"
#include "worker/state/optimizer.hpp"

namespace nereus::worker {

// Returns samples [first, first + count) of step `step`, for the first stage, the last, or both.
using ReadBatch = std::function<Batch(std::int64_t step, std::int64_t first, std::int64_t count)>;

struct StepResult {
  double loss = 0;
  double gradient_norm = 0;
  double seconds = 0;
  job::Waits waits{};
  double signals = 0;  // sum over all ranks of the `signal` passed to run()
};

// One thing that the rank did, with its start and end in nanoseconds of the steady clock; recorded
// while Executor::slices is set.
struct Done {
  timeline::SliceKind kind = timeline::SliceKind::kOther;
  std::int64_t start = 0;
  std::int64_t end = 0;
  int stage = -1;
  int micro_batch = -1;
};

double since(std::chrono::steady_clock::time_point start);  // seconds
inline bool is_backward(schedule::Pass pass) {
  return pass == schedule::Pass::kBackward || pass == schedule::Pass::kInput;
}

class Executor {
 public:
  // With `starts_empty`, the caller must fill in the values of the state before the first step.
  Executor(const job::Job& job, Comm& comm, ReadBatch read, bool starts_empty = false);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  // `signal` is summed over all ranks; ranks use it, for example, to agree to end.
  StepResult run(std::int64_t step, double signal = 0);
  const RankPlan& rank_plan() const { return mine_; }
  const GradientBuckets& buckets() const { return buckets_; }
  std::vector<Done>* slices = nullptr;
  // The samples as passes need them: on this rank's device, in the type of its computation.
  Batch on_device(Batch read) const;
  LayerClock* layer_clock = nullptr;  // for the next steps; such a step does not run as a graph
  Pieces* pieces = nullptr;           // each piece of a step waits for its turn
  // Called once per step, when all reductions are complete, the device is idle, and the update has
  // not begun.
  std::function<void()> at_rest{};
  // For `nereus measure`, on a rank with one stage and one micro-batch: runs the first `passes`
  // passes of a step's layers, forward then backward, always on the same samples. Changes no
  // weights.
  void run_cut(int passes);

  // Whether this rank has reached the last reduction of the current step (loss and norm) and has
  // not updated yet. From then on it needs nothing from other ranks but that norm.
  //
  // A step is taken by all ranks or by none (commit rule). Passes and reductions change no state;
  // the last reduction is a sum of loss and norm over all ranks, and no rank gets the sum before
  // every rank has reached the reduction. So once one rank has updated, every other rank can update
  // too. If a job is interrupted there, survivors that have arrived but not updated are told the
  // norm, and call commit() too.
  bool has_arrived() const { return arrived_; }
  void commit(std::int64_t step, double gradient_norm);

  std::vector<std::unique_ptr<LayerState>>& states() { return states_; }
  Optimizer& optimizer() { return optimizer_; }
  // Whether master weights are separate from the weights used in computation.
  bool wide_masters() const { return options_.sum_type != options_.type; }
  // For tests: called with what update() will use, before clipping.
  std::function<void()> before_update;
  // Bytes moved by the collectives of layers so far.
  Traffic traffic() const { return groups_.traffic(); }
  // While it is set: the peak number of bytes of values, layer inputs and gradients on the device,
  // sampled between layers. Does not count what autograd keeps inside a layer.
  std::int64_t* most_kept = nullptr;
  const HostStore& host_store() const { return store_; }

 private:
  struct Incoming {
    std::vector<std::map<int, at::Tensor>> values;  // by Link of the stage
    std::vector<Handle> handles;
  };

  void build();
  void build_stage(const StageWork& work);
  const plan::LayerRun& run_of(int layer) const;
  LayerState* alias_of(const Layer& layer, const StageWork& work);
  Tied tied_of(const Layer& layer, const StageWork& work);
  void add_wide_tie(const std::string& name, const std::vector<int>& first,
                    const std::vector<int>& second);
  void run_layered(std::int64_t step);
  void forward_layered(const Stage& stage, std::size_t first, std::int64_t step);
  void backward_layered(const Stage& stage, std::size_t first);
  void count_kept();
  void start_joining();
  void join_stages();
  void sum_wide_ties();
  void run_passes(std::int64_t step);
  void rehearse(std::int64_t step);
  bool graph_helps() const;
  void run_graph(std::int64_t step);
  void keep_samples(std::int64_t step);
  // Pieces for device work that is neither a layer's pass nor its update, if the device runs behind
  // the host.
  Pieces* device_pieces() const { return options_.device.is_cuda() ? pieces : nullptr; }
  Batch read_batch(const MicroBatch& batch, std::int64_t step);
  void run_pass(std::size_t index, std::int64_t step);
  void run_in_order(std::int64_t step);
  bool may_pull_ahead() const;
  void pull_ahead(std::size_t recompute, std::int64_t step);
  bool is_there(std::size_t index) const;
  std::vector<Route> in_order(std::vector<Route> routes, bool gradients) const;
  void ask_ahead(std::size_t index);
  void ask(std::size_t index);
  std::map<int, at::Tensor> take(std::size_t index);
  void send(const std::map<int, at::Tensor>& values, const StageWork& work, const MicroBatch& batch,
            bool gradients);
  Record begin_record(const StageWork& work, int micro_batch, std::int64_t step);
  void layer_done(LayerState& state);
  std::vector<StatisticsSum> sum_statistics();
  void finish(std::int64_t step, double signal, StepResult& result);
  void settle_times(std::size_t first);
  void note(timeline::SliceKind kind, std::int64_t start, int stage = -1, int micro_batch = -1);
  std::vector<Lane> lanes() const;
  void stay_near();
  void add_stream_times();
  std::int64_t tag_of(int reader, bool gradients, std::int64_t first_sample, int layer) const;
  const Stage& stage_of(int number) const;

  const job::Job job_;
  Comm* comm_;
  ReadBatch read_;
  std::vector<std::unique_ptr<Layer>> layers_;
  RankPlan mine_;
  GroupCache groups_;
  GroupCache norm_groups_;  // separate, so that norms do not wait for gradient reductions
  std::shared_ptr<Group> world_;
  std::vector<std::shared_ptr<Group>> teams_;  // by stage of this rank, like the next two
  std::vector<std::shared_ptr<Group>> data_;
  std::vector<std::shared_ptr<Group>> norm_together_;  // nullptr if BatchNorm is not synchronous
  std::vector<std::unique_ptr<LayerState>> states_;
  std::vector<std::unique_ptr<Stage>> stages_;
  GradientBuckets buckets_;
  // By name of the tied weight: the ranks that compute one or both of its layers.
  std::map<std::string, std::shared_ptr<Group>> wide_ties_;
  Optimizer optimizer_;
  StateOptions options_;
  HostStore store_;
  StreamClock clock_;
  HostStore::Seen seen_;
  double loss_scale_ = 1;
  int most_held_ = 0;  // peak of num_held_ in the fixed order; 0 if no pass is pulled ahead

  // All passes of a step as one graph, and the samples that it reads (or a rehearsed step).
  StepGraph graph_;
  std::optional<CutGraph> cut_graph_;                                     // if it runs in pieces
  std::map<std::pair<std::int64_t, std::int64_t>, Batch> graph_batches_;  // by first sample, number
  bool reads_kept_ = false;
  bool launches_are_cut_ = false;  // into pieces, also while they are captured
  std::int64_t steps_run_ = 0;

  // State of the running step.
  std::map<std::pair<int, int>, Record> records_;  // by stage and micro-batch
  std::map<std::size_t, Incoming> incoming_;       // by position in the order
  std::vector<bool> ran_;                          // by position in the order
  int num_held_ = 0;                               // micro-batches between forward and backward
  std::map<std::int64_t, at::Tensor> local_;       // messages of this rank to itself, by tag
  std::deque<Handle> sent_;
  std::deque<DeviceMark> launched_;  // where the device was given something to send
  std::future<void> joining_;        // collectives of the stages whose state this rank only stores
  std::map<LayerState*, int> passes_left_;  // backward passes until a layer is complete
  at::Tensor loss_;                         // on the device: reading its value would wait for it
  job::Waits waits_{};
  std::vector<StatisticsSum> statistics_;  // by stage of this rank
  bool arrived_ = false;
};

}  // namespace nereus::worker
