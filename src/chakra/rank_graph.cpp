#include "chakra/rank_graph.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::chakra {

namespace {

using simulate::Pass;
using simulate::PipelineOp;

class Builder {
 public:
  Builder(const StepWork& work, int rank) : work_(work), rank_(rank) {
    graph_.pipeline_rank = rank;
    const auto cells = static_cast<std::size_t>(work.size.num_stages()) *
                       static_cast<std::size_t>(work.size.micro_batches);
    forward_rank_.resize(cells);
    backward_rank_.resize(cells);
    recomputed_.resize(cells);
    last_.resize(static_cast<std::size_t>(work.size.num_stages()), -1);
    for (std::size_t p = 0; p < work.order.size(); ++p)
      for (const PipelineOp& op : work.order[p]) {
        if (op.pass == Pass::kForward) forward_rank_[cell(op.stage, op.micro_batch)] = place(p);
        if (op.pass == Pass::kBackward || op.pass == Pass::kInput)
          backward_rank_[cell(op.stage, op.micro_batch)] = place(p);
      }
    // The last pass on this rank that adds to a stage's gradients.
    const auto& own = work.order[rank];
    for (std::size_t i = 0; i < own.size(); ++i)
      if (own[i].pass == Pass::kBackward || own[i].pass == Pass::kWeight)
        last_[own[i].stage] = static_cast<int>(i);
  }

  RankGraph run() {
    const auto& own = work_.order[rank_];
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool last = last_[own[i].stage] == static_cast<int>(i);
      pass(own[i], last);
    }
    finish();
    return std::move(graph_);
  }

 private:
  using Front = std::vector<std::uint64_t>;

  static int place(std::size_t rank) { return static_cast<int>(rank); }
  std::size_t cell(int stage, int micro_batch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(work_.size.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }
  const StageLayers& stage(int index) const { return work_.stages[index]; }

  std::uint64_t push(GraphNode node) {
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.size();
  }

  std::uint64_t compute(Action action, int layer, int micro_batch, double seconds, double flops,
                        double bytes) {
    GraphNode node{NodeType::kCompute, action, layer, micro_batch, front_};
    sum_ += seconds * 1e6;
    node.microseconds = static_cast<std::uint64_t>(std::llround(sum_)) - rounded_;
    rounded_ += node.microseconds;
    node.bytes = std::llround(bytes);
    // A roofline model multiplies bytes per FLOP by FLOP. So FLOP is at least 1, and nodes that
    // only move bytes take the time for these bytes.
    node.flops = std::max<std::int64_t>(node.bytes > 0 ? 1 : 0, std::llround(flops));
    const std::uint64_t number = push(std::move(node));
    front_ = {number};
    return number;
  }

  std::uint64_t collective(const Collective& what, const LayerWork* layer, int micro_batch,
                           Front after) {
    GraphNode node{NodeType::kCollective, Action::kCollective, layer != nullptr ? layer->layer : -1,
                   micro_batch, std::move(after)};
    node.bytes = what.bytes;
    node.comm = what.type;
    node.group = what.group;
    return push(std::move(node));
  }
  void chain(const Collectives& list, const LayerWork& layer, int micro_batch) {
    for (const Collective& what : list) front_ = {collective(what, &layer, micro_batch, front_)};
  }
  // One after the other, from `after` on; returns what is there at the end.
  Front apart(const Collectives& list, const LayerWork& layer, int micro_batch, Front after) {
    for (const Collective& what : list)
      after = {collective(what, &layer, micro_batch, std::move(after))};
    return after;
  }

  int tag_of(bool forward, int from_stage, int micro_batch) const {
    return static_cast<int>(cell(from_stage, micro_batch)) * 2 + (forward ? 0 : 1);
  }
  void transfer(NodeType type, const PipelineOp& op, int peer, int tag, std::int64_t bytes) {
    GraphNode node{type, type == NodeType::kSend ? Action::kSend : Action::kReceive, -1,
                   op.micro_batch, front_};
    node.bytes = bytes;
    node.peer = peer;
    node.tag = tag;
    const std::uint64_t number = push(std::move(node));
    if (type == NodeType::kSend) return;
    front_.push_back(number);
    if (!work_.gathers_messages) return;
    front_ = {collective({CommType::kAllGather, GroupKind::kTensor, bytes}, nullptr, op.micro_batch,
                         front_)};
  }

  static bool passes_on(Pass pass) { return pass != Pass::kWeight && pass != Pass::kRecompute; }
  // Messages that a pass receives from other ranks, and that it sends.
  void receive(const PipelineOp& op) {
    const bool forward = op.pass == Pass::kForward;
    const int from = forward ? op.stage - 1 : op.stage + 1;
    if (!passes_on(op.pass) || from < 0 || from >= work_.size.num_stages()) return;
    const int peer = (forward ? forward_rank_ : backward_rank_)[cell(from, op.micro_batch)];
    if (peer == rank_) return;
    transfer(NodeType::kReceive, op, peer, tag_of(forward, from, op.micro_batch),
             stage(forward ? from : op.stage).message);
  }
  void send(const PipelineOp& op) {
    const bool forward = op.pass == Pass::kForward;
    const int to = forward ? op.stage + 1 : op.stage - 1;
    if (!passes_on(op.pass) || to < 0 || to >= work_.size.num_stages()) return;
    const int peer = (forward ? forward_rank_ : backward_rank_)[cell(to, op.micro_batch)];
    if (peer == rank_) return;
    transfer(NodeType::kSend, op, peer, tag_of(forward, op.stage, op.micro_batch),
             stage(forward ? op.stage : to).message);
  }

  // Gathers the sharded weights of a layer: prefetched one layer ahead if the plan overlaps, else
  // in the chain.
  void gather(const LayerWork& layer, int micro_batch) {
    if (layer.gather.empty()) return;
    if (!work_.degrees.data_overlap) return chain(layer.gather, layer, micro_batch);
    const Front there =
        apart(layer.gather, layer, micro_batch, ahead_ > 0 ? Front{ahead_} : Front{});
    ahead_ = front_.empty() ? 0 : front_.front();
    front_.insert(front_.end(), there.begin(), there.end());
  }

  void beside(const Collectives& list, const LayerWork& layer, int micro_batch,
              const Front& before) {
    const Front end = apart(list, layer, micro_batch, before);
    if (!list.empty()) front_.insert(front_.end(), end.begin(), end.end());
  }

  void forward(const LayerWork& layer, int micro_batch) {
    gather(layer, micro_batch);
    chain(layer.before_forward, layer, micro_batch);
    const Front before = front_;
    compute(Action::kForward, layer.layer, micro_batch, layer.forward, layer.flops, layer.bytes);
    beside(layer.beside_forward, layer, micro_batch, before);
    chain(layer.after_forward, layer, micro_batch);
  }

  void recompute(const LayerWork& layer, int micro_batch) {
    if (layer.recompute <= 0) return;
    if (layer.repeats) chain(layer.before_forward, layer, micro_batch);
    const Front before = front_;
    compute(Action::kRecompute, layer.layer, micro_batch, layer.recompute, layer.recompute_flops,
            layer.flops > 0 ? layer.bytes * layer.recompute_flops / layer.flops : 0);
    if (!layer.repeats) return;
    beside(layer.beside_forward, layer, micro_batch, before);
    chain(layer.after_forward, layer, micro_batch);
  }

  // For the whole backward pass, or its first half.
  void backward(const LayerWork& layer, int micro_batch, bool whole, bool again) {
    gather(layer, micro_batch);
    if (again) recompute(layer, micro_batch);
    chain(layer.before_backward, layer, micro_batch);
    if (whole) chain(layer.before_weight, layer, micro_batch);
    const Front before = front_;
    const double passes = whole ? 2 : 1;
    compute(whole ? Action::kBackward : Action::kInput, layer.layer, micro_batch,
            layer.input + (whole ? layer.weight : 0), passes * layer.flops, passes * layer.bytes);
    beside(layer.beside_backward, layer, micro_batch, before);
    chain(layer.after_backward, layer, micro_batch);
  }

  // Starts from the current position, concurrent with the chain; the optimizer waits for it.
  void aside(const Collectives& list, const LayerWork& layer, int micro_batch) {
    if (list.empty()) return;
    const Front done = apart(list, layer, micro_batch, front_);
    before_optimizer_.insert(before_optimizer_.end(), done.begin(), done.end());
  }

  // Reduces gradients of the layer that are ready at the current position of the chain.
  void reduce(const LayerWork& layer, int micro_batch, bool last) {
    if (work_.degrees.data_overlap)
      aside(layer.scatter, layer, micro_batch);
    else
      chain(layer.scatter, layer, micro_batch);
    if (!last) return;
    if (work_.degrees.data_overlap)
      aside(layer.reduce, layer, -1);
    else
      late_.push_back(&layer);
    if (work_.tied_bytes > 0 && (layer.layer == work_.tied_first || layer.layer == work_.tied_last))
      aside({{CommType::kAllReduce, GroupKind::kTied, work_.tied_bytes}}, layer, -1);
  }

  void pass(const PipelineOp& op, bool last) {
    receive(op);
    const std::vector<LayerWork>& layers = stage(op.stage).layers;
    if (op.pass == Pass::kForward) {
      for (const LayerWork& layer : layers) forward(layer, op.micro_batch);
    } else if (op.pass == Pass::kRecompute) {  // a pass of its own under Varuna
      for (const LayerWork& layer : layers) recompute(layer, op.micro_batch);
      recomputed_[cell(op.stage, op.micro_batch)] = true;
    } else {
      for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
        if (op.pass == Pass::kWeight) {
          chain(layer->before_weight, *layer, op.micro_batch);
          compute(Action::kWeight, layer->layer, op.micro_batch, layer->weight, layer->flops,
                  layer->bytes);
        } else {
          backward(*layer, op.micro_batch, op.pass == Pass::kBackward,
                   !recomputed_[cell(op.stage, op.micro_batch)]);
        }
        if (op.pass != Pass::kInput) reduce(*layer, op.micro_batch, last);
      }
    }
    send(op);
  }

  void finish() {
    for (const LayerWork* layer : late_) chain(layer->reduce, *layer, -1);
    front_.insert(front_.end(), before_optimizer_.begin(), before_optimizer_.end());
    const Update& update = work_.optimizer[rank_];
    compute(Action::kOptimizer, -1, -1, update.seconds, 0, update.bytes);
    for (const StageLayers& part : work_.stages) {
      if (last_[&part - work_.stages.data()] < 0) continue;
      for (const LayerWork& layer : part.layers) chain(layer.regather, layer, -1);
    }
  }

  const StepWork& work_;
  int rank_;
  RankGraph graph_;
  std::vector<int> forward_rank_, backward_rank_;  // by stage and micro-batch
  std::vector<bool> recomputed_;
  std::vector<int> last_;  // by stage: index of a pass, -1 if there is none
  Front front_;            // what the next node of the chain waits for
  Front before_optimizer_;
  std::vector<const LayerWork*> late_;
  std::uint64_t ahead_ = 0;  // the node after which the next layer's weights are asked for
  double sum_ = 0;           // microseconds
  std::uint64_t rounded_ = 0;
};

}  // namespace

RankGraph make_graph(const StepWork& work, int pipeline_rank) {
  return Builder(work, pipeline_rank).run();
}

}  // namespace nereus::chakra
