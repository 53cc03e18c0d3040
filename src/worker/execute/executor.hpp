// One rank of a job: builds the layers of its stages, and runs steps in the plan's order.
//
// A step is the rank's passes (RankPlan::order). Inputs of the next passes are asked for ahead, so
// that they travel beside computation; outputs are sent as soon as they are there. Gradients of a
// layer begin to travel when its last micro-batch is through, small layers together
// (gradient_buckets.hpp). Then the update: the norm over all
// ranks, each element on the rank that keeps it, and the weights back to who computes with them,
// beside the next step's first layers.
//
// Varuna's schedule is opportunistic (Athlur 2022): where the next pass is a recompute whose
// gradient has not arrived, but the input of the next forward pass has, that runs first. Only as
// long as the rank holds fewer micro-batches than its order does at most, so that memory is what
// was planned. Backward passes keep their order, and with it every sum its terms in theirs: the
// result is that of the order without pulling, to the bit. Ranks of a team choose together. Where
// passes hold collectives over data ranks (divided weights and gradients, synchronous norms), the
// order stays.
//
//   Executor executor(job, comm, samples);
//   for (step ...) StepResult r = executor.run(step);      // r.loss is that of all ranks
//
// Every rank of the job gets the same loss: the sum of all targets' cross entropies over their
// number, whoever computed them.
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
#include "worker/execute/cut_graph.hpp"
#include "worker/execute/stage.hpp"
#include "worker/state/gradient_buckets.hpp"
#include "worker/state/norm_groups.hpp"
#include "worker/state/optimizer.hpp"

namespace nereus::worker {

// Samples [first, first + count) of step `step`, for the first stage, the last, or both.
using ReadBatch = std::function<Batch(std::int64_t step, std::int64_t first, std::int64_t count)>;

struct StepResult {
  double loss = 0;
  double gradient_norm = 0;
  double seconds = 0;
  job::Waits waits{};
  double signals = 0;  // sum over all ranks of what each gave run()
};

// What the rank did when, in nanoseconds of the steady clock; kept while `slices` is set.
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
  // `starts_empty`: the state's values are to be put there before the first step.
  Executor(const job::Job& job, Comm& comm, ReadBatch read, bool starts_empty = false);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  // `signal` is summed over all ranks: how they agree to end, say.
  StepResult run(std::int64_t step, double signal = 0);
  const RankPlan& rank_plan() const { return mine_; }
  const GradientBuckets& buckets() const { return buckets_; }
  std::vector<Done>* slices = nullptr;
  // The samples as passes take them: where this rank computes, and in what it computes with.
  Batch on_device(Batch read) const;
  LayerClock* layer_clock = nullptr;  // of the steps to come; such a step is no graph
  Pieces* pieces = nullptr;           // each of a step's pieces waits for its turn
  // Once a step: all sums are here, the device has nothing under way, and the update has not begun.
  std::function<void()> at_rest{};
  // For `nereus measure`, of a rank with one stage and one micro-batch: the first so many passes of
  // a step's layers, forward and then backward, on the same samples each time. Changes no weights.
  void run_cut(int passes);

  // The sums of the step under way are all here, and its update has not been done: it needs no
  // other rank any more.
  //
  // A step is taken by all ranks or by none (commit rule). Passes and reductions change no state;
  // the last of them is a sum over all ranks, that of loss and norm, which no rank has before every
  // rank has arrived at it. So once one rank updated, every other can: where a job breaks off
  // there, survivors that only arrived are told the norm and commit() too.
  bool has_arrived() const { return arrived_; }
  void commit(std::int64_t step, double gradient_norm);

  std::vector<std::unique_ptr<LayerState>>& states() { return states_; }
  Optimizer& optimizer() { return optimizer_; }
  // Master weights are kept apart from those that are computed with.
  bool wide_masters() const { return options_.sum_type != options_.type; }
  // For tests: what update() was given, before clipping.
  std::function<void()> before_update;
  // Bytes moved by the collectives of layers so far.
  Traffic traffic() const { return groups_.traffic(); }
  // The most bytes of values, inputs of layers and gradients that lay on the device between layers,
  // counted while it is set; what a graph keeps inside a layer does not count.
  std::int64_t* most_kept = nullptr;
  const HostStore& host_store() const { return store_; }

 private:
  struct Incoming {
    std::vector<std::map<int, at::Tensor>> values;  // by link of the stage
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
  bool graph_helps() const;
  void run_graph(std::int64_t step);
  void keep_samples(std::int64_t step);
  // Where the device runs behind the host: what is neither a layer's pass nor its update.
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
  std::int64_t tag_of(int reader, bool gradients, std::int64_t first_sample, int layer) const;
  const Stage& stage_of(int number) const;

  const job::Job job_;
  Comm* comm_;
  ReadBatch read_;
  std::vector<std::unique_ptr<Layer>> layers_;
  RankPlan mine_;
  GroupCache groups_;
  GroupCache norm_groups_;  // of their own: they do not wait for gradients on their way
  std::shared_ptr<Group> world_;
  std::vector<std::shared_ptr<Group>> teams_;  // by stage of this rank; so the next two
  std::vector<std::shared_ptr<Group>> data_;
  std::vector<std::shared_ptr<Group>> norm_together_;  // nullptr where BatchNorm is not synchronous
  std::vector<std::unique_ptr<LayerState>> states_;
  std::vector<std::unique_ptr<Stage>> stages_;
  GradientBuckets buckets_;
  std::map<std::string, std::shared_ptr<Group>> wide_ties_;  // by weight: who computes either layer
  Optimizer optimizer_;
  StateOptions options_;
  HostStore store_;
  StreamClock clock_;
  HostStore::Seen seen_;
  double loss_scale_ = 1;
  int most_held_ = 0;  // micro-batches, by the order; 0 where no pass is pulled ahead

  // All passes of a step as one graph, and the samples that it reads.
  StepGraph graph_;
  std::optional<CutGraph> cut_graph_;            // where it is run in pieces
  std::map<std::int64_t, Batch> graph_batches_;  // by first sample
  bool reads_kept_ = false;
  bool launches_are_cut_ = false;  // for pieces, also while a graph of them is taken
  std::int64_t steps_run_ = 0;

  // Of the running step.
  std::map<std::pair<int, int>, Record> records_;  // by stage and micro-batch
  std::map<std::size_t, Incoming> incoming_;       // by place in the order
  std::vector<bool> ran_;                          // so too
  int num_held_ = 0;                               // micro-batches between forward and backward
  std::map<std::int64_t, at::Tensor> local_;       // messages to itself, by tag
  std::deque<Handle> sent_;
  std::future<void> joining_;  // collectives of the stages that this rank only keeps state of
  std::map<LayerState*, int> passes_left_;  // backward passes until a layer is done
  at::Tensor loss_;                         // on the device: asking for its value would wait for it
  job::Waits waits_{};
  std::vector<StatisticsSum> statistics_;  // by stage of this rank
  bool arrived_ = false;
};

}  // namespace nereus::worker
