#include "predict/general/teams.hpp"

#include <algorithm>
#include <utility>

#include "cost/data_parallel.hpp"
#include "predict/general/table_step.hpp"

namespace nereus::cost::general {

using plan::LayerRun;
using plan::RankRange;
using plan::Replicas;
using plan::StateKind;
using plan::StateShare;
using plan::Tier;

namespace {

// Calls f(rank, slice, share of the slice) for each piece of a share.
template <class F>
void for_each_slice(const StateShare& share, F&& f) {
  const double part = static_cast<double>(share.end - share.begin) /
                      static_cast<double>(plan::kStateUnits) / share.pieces;
  for (const RankRange& range : share.ranks)
    for (int i = 0; i < range.count; ++i)
      for (int s = 0; s < share.num_slices; ++s)
        f(range.first + i * range.stride + s * share.slice_stride, share.first_slice + s, part);
}

template <class F>
void for_each_piece(const StateShare& share, F&& f) {
  for_each_slice(share, [&](int rank, int, double part) { f(rank, part); });
}

class Loader {
 public:
  explicit Loader(Context& context)
      : context_(context), loads_(static_cast<std::size_t>(context.wires.num_ranks())) {}

  std::vector<RankLoad> load() {
    find_tied();
    const auto num_runs = static_cast<int>(context_.placement.runs.size());
    for (int i = 0; i < num_runs; ++i) {
      keep_state(i);
      keep_gathered(i);
      keep_tables(i);
      for (std::size_t g = 0; g < context_.run(i).replicas.size(); ++g) keep_activations(i, g);
    }
    finish();
    return std::move(loads_);
  }

 private:
  // Sums of a run on a rank while its shares are read.
  struct Beyond {
    int run = -1;
    double dense = 0;  // share of a slice of weights that lies beyond the device
    double experts = 0;
  };
  // Activations of a run for one micro-batch, and how they are held.
  struct Held {
    double block = 0;
    double extra_offload = 0;
    Tier extra_tier = Tier::kHost;
    double in_flight = 0;
    double way = 0;
    double largest_gather = 0;
    double staged_most = 0;   // bytes of two layers of weights on their way
    double staged_bytes = 0;  // bytes of weights beyond the device
  };

  RankLoad& at(int rank) { return loads_[rank]; }

  // Many shares of a run ask for the same sum.
  double dense_of(const LayerRun& run, int cut) {
    if (dense_run_ == &run && dense_cut_ == cut) return dense_sum_;
    dense_run_ = &run;
    dense_cut_ = cut;
    dense_sum_ = 0;
    for (int i = 0; i < run.num_layers; ++i)
      dense_sum_ += context_.costs.dense_parameters(context_.placement, kind_at(run, i), cut);
    return dense_sum_;
  }
  double experts_of(const LayerRun& run, int cut) const {
    double sum = 0;
    for (int i = 0; i < run.num_layers; ++i)
      sum += context_.costs.expert_parameters(kind_at(run, i), cut);
    return sum;
  }
  int kind_at(const LayerRun& run, int i) const {
    return context_.model.layers[run.first_layer + i];
  }

  // For every second layer of a tied pair: which ranks hold the first, and so hold it once.
  struct Tied {
    int second_run = 0;
    double parameters = 0;
    std::vector<bool> holds_first;
  };
  void find_tied() {
    held_.resize(loads_.size());
    touched_.resize(loads_.size());
    beyond_.resize(loads_.size());
    for (const model::TiedWeights& tied : context_.model.tied) {
      Tied entry{context_.run_of_layer(tied.second), tied.parameters,
                 std::vector<bool>(loads_.size())};
      for (const StateShare& share : context_.run(context_.run_of_layer(tied.first)).state)
        if (share.kind == StateKind::kWeights && !share.experts && !share.peer_copy &&
            share.begin < share.end)
          for_each_piece(share, [&](int rank, double) { entry.holds_first[rank] = true; });
      tied_.push_back(std::move(entry));
    }
  }
  // Parameters of a dense slice that the rank need not hold in this run.
  double tied_at(int run, int rank, int cut) const {
    double parameters = 0;
    for (const Tied& tied : tied_)
      if (tied.second_run == run && tied.holds_first[rank])
        parameters += tied.parameters / (context_.placement.split_vocabulary ? cut : 1);
    return parameters;
  }

  void keep_state(int index) {
    const LayerRun& run = context_.run(index);
    const RunState& state = context_.states[index];
    const bool whole_gradients = context_.keeps_gradients(run);
    for (const StateShare& share : run.state) {
      if (share.begin >= share.end) continue;
      const SliceState& slice = share.experts ? state.experts : state.dense;
      const double all = share.experts ? experts_of(run, share.cut) : dense_of(run, share.cut);
      if (all <= 0) continue;
      const bool kept_whole = share.kind == StateKind::kGradients && whole_gradients &&
                              slice.gradients_divided && !share.peer_copy;
      for_each_piece(share, [&](int rank, double part) {
        if (kept_whole && computes(index, rank)) return;  // counted whole below
        const double tied = share.experts ? 0 : tied_at(index, rank, share.cut);
        hold(index, rank, share, part, all, tied);
      });
    }
    if (whole_gradients && state.dense.gradients_divided) keep_whole_gradients(index, false);
    if (whole_gradients && state.experts.gradients_divided) keep_whole_gradients(index, true);
    if (state.weights_beyond_device) stage_weights(index);
    if (touches_) add_latencies(run);
    touches_ = false;
  }

  // A bit for each kind of state and tier, of dense weights and of experts.
  static unsigned touch_of(const StateShare& share) {
    return 1U << (2 * (4 * static_cast<int>(share.kind) + static_cast<int>(share.tier)) +
                  (share.experts ? 1 : 0));
  }

  // Every layer's part of a kind of state in a tier is a transfer of its own.
  void add_latencies(const LayerRun& run) {
    for (std::size_t rank = 0; rank < touched_.size(); ++rank) {
      const unsigned touched = std::exchange(touched_[rank], 0U);
      if (touched == 0) continue;
      const Machine& machine = context_.wires.machine_at(static_cast<int>(rank));
      for (int kind = 0; kind < 3; ++kind)
        for (const Tier tier : {Tier::kExpanded, Tier::kHost, Tier::kNvme}) {
          const unsigned held = touched >> (2 * (4 * kind + static_cast<int>(tier))) & 3U;
          if (held == 0) continue;
          const int layers = context_.layers_with_weights(run, (held & 1U) != 0, (held & 2U) != 0);
          loads_[rank].copied_seconds += machine.tier(tier).seconds(0, layers);
        }
    }
  }

  void hold(int index, int rank, const StateShare& share, double part, double all, double tied) {
    RankLoad& load = at(rank);
    RankMemory& memory = load.memory;
    const StackOptions& options = context_.options;
    const double held = part * (all - tied);
    double bytes = options.weight_bytes;
    double* device = &memory.weights;
    if (share.kind == StateKind::kGradients) {
      bytes = options.gradient_bytes;
      device = &memory.gradients;
    } else if (share.kind == StateKind::kOptimizer) {
      bytes = options.optimizer_bytes;
      device = &memory.optimizer;
    }
    if (share.tier == Tier::kDevice)
      *device += held;
    else
      memory.tiers[static_cast<std::size_t>(share.tier)] += held * bytes;
    if (share.peer_copy) return;
    if (share.kind == StateKind::kWeights) memory.held_weights += held;
    if (share.kind == StateKind::kOptimizer) {
      load.updates += held;
      if (host_updates(share.tier, options)) load.host_updates += held;
    }
    if (share.tier == Tier::kDevice) return;
    if (share.kind == StateKind::kOptimizer) bytes = update_copy_bytes(share.tier, options);
    load.copied_seconds +=
        context_.wires.machine_at(rank).tier(share.tier).seconds(held * bytes, 0);
    if (held > 0) {
      touched_[rank] |= touch_of(share);
      touches_ = true;
    }
    if (share.kind != StateKind::kWeights) return;
    held_[rank].staged_bytes += held * bytes;
    Beyond& beyond = beyond_[rank];
    if (beyond.run != index) beyond = {index, 0, 0};
    (share.experts ? beyond.experts : beyond.dense) += part;
  }

  // Embedding tables: slices of their own lengths, what is exchanged, pooled gradients.
  void keep_tables(int index) {
    const LayerRun& run = context_.run(index);
    const TableSlices* slices = context_.costs.table_slices(run);
    if (slices == nullptr) return;
    for (const StateShare& share : run.state) {
      if (!share.experts || share.kind == StateKind::kGradients) continue;
      const bool weights = share.kind == StateKind::kWeights;
      const std::vector<double>& bytes = weights ? slices->weights : slices->state;
      for_each_slice(share, [&](int rank, int slice, double part) {
        RankMemory& memory = at(rank).memory;
        double& held = share.tier == Tier::kDevice
                           ? (weights ? memory.table_weights : memory.table_optimizer)
                           : memory.tiers[static_cast<std::size_t>(share.tier)];
        held += part * bytes[slice];
      });
    }
    const TableStep step = table_step_of(context_, index);
    const double element = element_bytes(context_.placement.precision);
    for (const Replicas& r : run.replicas) {
      const double samples = context_.rounds(r).list[0].samples;
      const double buffers =
          table_traffic(*slices, samples, element).buffers + step.sparse + step.dense;
      for_each_rank(r, [&](int rank, int) {
        at(rank).memory.table_gradients += step.gradients;
        at(rank).memory.table_buffers += buffers;
      });
    }
  }

  // Memory for two layers of offloaded weights.
  void stage_weights(int index) {
    const LayerRun& run = context_.run(index);
    for (std::size_t rank = 0; rank < beyond_.size(); ++rank) {
      const Beyond& beyond = beyond_[rank];
      if (beyond.run != index) continue;
      double largest = 0;
      for (int i = 0; i < run.num_layers; ++i) {
        const int kind = kind_at(run, i);
        largest = std::max(
            largest,
            beyond.dense * context_.costs.dense_parameters(context_.placement, kind,
                                                           run.replicas.front().tp) +
                beyond.experts * context_.costs.expert_parameters(kind, run.ep * run.expert_tp));
      }
      double& most = held_[rank].staged_most;
      most = std::max(most, 2 * largest * context_.options.weight_bytes);
    }
  }

  bool computes(int index, int rank) {
    if (computing_run_ != index) {
      computing_run_ = index;
      computing_.assign(loads_.size(), false);
      for (const Replicas& r : context_.run(index).replicas)
        for_each_rank(r, [&](int member, int) { computing_[member] = true; });
    }
    return computing_[rank];
  }

  void keep_whole_gradients(int index, bool experts) {
    const LayerRun& run = context_.run(index);
    for (const Replicas& r : run.replicas) {
      const double all = experts ? experts_of(run, run.ep * run.expert_tp) : dense_of(run, r.tp);
      for_each_rank(r, [&](int rank, int) {
        at(rank).memory.gradients += all - (experts ? 0 : tied_at(index, rank, r.tp));
      });
    }
  }

  // Gathered sharded weights: those of two layers, or of all layers for the step.
  void keep_gathered(int index) {
    const LayerRun& run = context_.run(index);
    const RunState& state = context_.states[index];
    const bool dense = state.dense.weights.divided;
    const bool experts = state.experts.weights.divided;
    if (!dense && !experts) return;
    for (const Replicas& r : run.replicas) {
      double sum = 0;
      double largest = 0;
      for (int i = 0; i < run.num_layers; ++i) {
        const int kind = kind_at(run, i);
        const double one =
            (dense ? context_.costs.dense_parameters(context_.placement, kind, r.tp) : 0) +
            (experts ? context_.costs.expert_parameters(kind, run.ep * run.expert_tp) : 0);
        sum += one;
        largest = std::max(largest, one);
      }
      for_each_rank(r, [&](int rank, int) {
        if (context_.keeps_whole()) {
          at(rank).memory.gathered += sum - (dense ? tied_at(index, rank, r.tp) : 0);
        } else {
          double& most = held_[rank].largest_gather;
          most = std::max(most, largest);
        }
      });
    }
  }

  void keep_activations(int index, std::size_t g) {
    const LayerRun& run = context_.run(index);
    const Replicas& r = run.replicas[g];
    const int stage = context_.layout.stage_of_run[index];
    const Rounds rounds = context_.rounds(r);
    const bool by_layer = context_.gathers_each() && context_.gather() == plan::Gather::kPerPass;
    const double flight =
        by_layer ? rounds.count() : in_flight(context_.layout.pipeline, stage, rounds.count());
    const bool one_stage = context_.layout.pipeline.depth == 1;
    RankMemory layers;
    int known = -1;  // the kind of machine that `layers` are for
    for_each_rank(r, [&](int rank, int team) {
      const int kind = context_.wires.kind_of(rank);
      if (kind != known) layers = layers_of(run, r, team, kind, rounds.list[0].samples);
      known = kind;
      RankMemory& memory = at(rank).memory;
      Held& held = held_[rank];
      memory.at_peak += layers.kept * flight;
      const double offloaded = r.offload_activations * layers.kept * flight;
      memory.offloaded += offloaded;
      memory.tiers[static_cast<std::size_t>(r.offload_tier)] += offloaded;
      memory.transient = std::max(memory.transient, layers.transient);
      memory.logits += layers.logits;
      if (one_stage) memory.gathered_inputs += layers.gathered_inputs;
      held.block = std::max(held.block, layers.block);
      held.in_flight = std::max(held.in_flight, flight);
      if (r.offload_activations > held.extra_offload) {
        held.extra_offload = r.offload_activations;
        held.extra_tier = r.offload_tier;
      }
      held.way = std::max(held.way, r.offload_activations * 2 * layers.largest);
    });
  }

  RankMemory layers_of(const LayerRun& run, const Replicas& r, int team, int machine,
                       double samples) {
    const TeamCosts costs = context_.costs.of(context_.placement, run, r, team, machine, samples);
    const Parameters& p = context_.wires.machine(machine).parameters;
    RankMemory layers;
    for (int i = 0; i < run.num_layers; ++i) {
      const int kind = kind_at(run, i);
      const bool block = context_.model.kinds[kind].role == model::LayerRole::kBlock;
      layers.add(layer_memory(costs.of(kind), block, recompute_at(r, i), context_.options, p), 1);
    }
    return layers;
  }

  void finish() {
    const bool one_stage = context_.layout.pipeline.depth == 1;
    for (std::size_t rank = 0; rank < loads_.size(); ++rank) {
      if (!context_.layout.used[rank]) continue;
      RankMemory& memory = loads_[rank].memory;
      const Held& held = held_[rank];
      const double blocks =
          one_stage ? 0
                    : context_.wires.machine_at(static_cast<int>(rank)).parameters.pipeline_layers;
      const double extra = blocks * held.block * held.in_flight;
      memory.at_peak += extra;
      memory.offloaded += held.extra_offload * extra;
      memory.tiers[static_cast<std::size_t>(held.extra_tier)] += held.extra_offload * extra;
      memory.on_the_way = std::min(memory.offloaded, held.way);
      memory.gathered += 2 * held.largest_gather;
      memory.staged = std::min(held.staged_bytes, held.staged_most);
    }
  }

  Context& context_;
  std::vector<RankLoad> loads_;
  std::vector<Held> held_;
  std::vector<Beyond> beyond_;
  std::vector<unsigned> touched_;  // by the run in hand, as touch_of says
  bool touches_ = false;           // any of them
  std::vector<Tied> tied_;
  std::vector<bool> computing_;
  int computing_run_ = -1;
  const LayerRun* dense_run_ = nullptr;
  int dense_cut_ = 0;
  double dense_sum_ = 0;
};

}  // namespace

std::vector<RankLoad> rank_loads(Context& context) { return Loader(context).load(); }

}  // namespace nereus::cost::general
