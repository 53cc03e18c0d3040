#include "simulate/played_layers.hpp"

#include <algorithm>

#include "simulate/network/network_play.hpp"

namespace nereus::simulate {

namespace {

std::size_t slot(int i) { return static_cast<std::size_t>(i); }

class Player {
 public:
  explicit Player(const cost::LayerGraph& graph)
      : graph_(graph),
        free_(graph.classes.size()),
        ended_(graph.layers.size()),
        out_of_(graph.layers.size()),
        into_(graph.layers.size()) {
    played_.classes.resize(graph.classes.size());
    for (const cost::LayerMove& move : graph.moves) {
      into_[slot(move.to)].push_back({move.from, move.each_way});
      out_of_[slot(move.from)].push_back({move.to, move.each_way});
    }
  }

  PlayedGraph play() {
    const auto n = static_cast<int>(graph_.layers.size());
    for (int i = 0; i < n; ++i) layer(i, into_, graph_.layers[slot(i)].forward);
    played_.forward = played_.end;
    // The loss needs the last of all forward passes.
    backward_ = true;
    std::fill(ended_.begin(), ended_.end(), played_.forward);
    for (int i = n; i-- > 0;) layer(i, out_of_, graph_.layers[slot(i)].backward);
    for (PlayedClass& own : played_.classes) sum_up(own);
    return std::move(played_);
  }

 private:
  struct Input {
    int layer = 0;
    double seconds = 0;
  };
  using Inputs = std::vector<std::vector<Input>>;

  Picoseconds free_of(int layer) const {
    Picoseconds free = 0;
    for (const int c : graph_.layers[slot(layer)].classes) free = std::max(free, free_[slot(c)]);
    return free;
  }
  void hold(int layer, Picoseconds start, Picoseconds end, int what) {
    for (const int c : graph_.layers[slot(layer)].classes) {
      if (free_[slot(c)] >= end) continue;  // both ends of a move
      free_[slot(c)] = end;
      played_.classes[slot(c)].held.push_back({start, end, what, backward_});
    }
  }
  Picoseconds carry(const Input& input, int to) {
    const Picoseconds takes = picoseconds(input.seconds);
    Picoseconds start = ended_[slot(input.layer)];
    if (takes <= 0) return start;
    played_.events += 2;
    if (!graph_.shares_rank(input.layer, to)) return start + takes;
    start = std::max({start, free_of(input.layer), free_of(to)});
    hold(input.layer, start, start + takes, -1);
    hold(to, start, start + takes, -1);
    return start + takes;
  }
  void layer(int index, const Inputs& inputs, double seconds) {
    Picoseconds start = backward_ ? played_.forward : 0;
    for (const Input& input : inputs[slot(index)]) start = std::max(start, carry(input, index));
    start = std::max(start, free_of(index));
    const Picoseconds end = start + picoseconds(seconds);
    if (end > start) hold(index, start, end, index);
    ended_[slot(index)] = end;
    played_.end = std::max(played_.end, end);
    played_.events += 2;
  }
  void sum_up(PlayedClass& own) const {
    Picoseconds held[2] = {0, 0};
    for (const HeldSpan& span : own.held) {
      (span.layer >= 0 ? own.computes : own.moves) += span.end - span.start;
      held[span.backward ? 1 : 0] += span.end - span.start;
    }
    own.idle_forward = played_.forward - held[0];
    own.idle_backward = played_.end - played_.forward - held[1];
  }

  const cost::LayerGraph& graph_;
  std::vector<Picoseconds> free_;   // by class
  std::vector<Picoseconds> ended_;  // by layer, in this pass
  Inputs out_of_, into_;
  bool backward_ = false;
  PlayedGraph played_;
};

}  // namespace

PlayedGraph play_layers(const cost::LayerGraph& graph) { return Player(graph).play(); }

}  // namespace nereus::simulate
