#include "cost/layer_graph.hpp"

#include <algorithm>

namespace nereus::cost {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// A node of a path: a layer or a move, and what it waited for.
struct Event {
  int before = -1;  // event
  int layer = -1;
  int move = -1;
  double end = 0;
};

class Walk {
 public:
  explicit Walk(const LayerGraph& graph) : graph_(graph), last_(graph.classes.size(), -1) {}

  LayerPath longest() {
    std::vector<int> of_layer(graph_.layers.size(), -1);
    std::size_t move = 0;
    int longest = -1;
    for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
      int ready = -1;
      for (; move < graph_.moves.size() && graph_.moves[move].to == static_cast<int>(i); ++move)
        ready = later(ready, carry(static_cast<int>(move), of_layer));
      const PlacedLayer& own = graph_.layers[i];
      for (const int c : own.classes) ready = later(ready, last_[at(c)]);
      of_layer[i] = add({ready, static_cast<int>(i), -1, end_of(ready) + own.seconds()});
      hold(own, of_layer[i]);
      longest = later(longest, of_layer[i]);
    }
    return path_to(longest);
  }

 private:
  double end_of(int event) const { return event < 0 ? 0 : events_[at(event)].end; }
  int later(int a, int b) const { return end_of(b) > end_of(a) || a < 0 ? b : a; }
  int add(const Event& event) {
    events_.push_back(event);
    return static_cast<int>(events_.size()) - 1;
  }
  void hold(const PlacedLayer& layer, int event) {
    for (const int c : layer.classes) last_[at(c)] = event;
  }
  int carry(int index, const std::vector<int>& of_layer) {
    const LayerMove& own = graph_.moves[at(index)];
    int ready = of_layer[at(own.from)];
    if (own.each_way <= 0) return ready;
    const bool holds = graph_.shares_rank(own.from, own.to);
    const PlacedLayer& from = graph_.layers[at(own.from)];
    const PlacedLayer& to = graph_.layers[at(own.to)];
    if (holds)
      for (const PlacedLayer* end : {&from, &to})
        for (const int c : end->classes) ready = later(ready, last_[at(c)]);
    const int event = add({ready, -1, index, end_of(ready) + 2 * own.each_way});
    if (holds) {
      hold(from, event);
      hold(to, event);
    }
    return event;
  }
  LayerPath path_to(int event) const {
    LayerPath path;
    path.seconds = end_of(event);
    for (; event >= 0; event = events_[at(event)].before) {
      const Event& own = events_[at(event)];
      if (own.layer >= 0) path.layers.push_back(own.layer);
      if (own.move >= 0) path.moves.push_back(own.move);
    }
    std::reverse(path.layers.begin(), path.layers.end());
    std::reverse(path.moves.begin(), path.moves.end());
    return path;
  }

  const LayerGraph& graph_;
  std::vector<Event> events_;
  std::vector<int> last_;  // event that held the class last
};

}  // namespace

bool LayerGraph::shares_rank(int a, int b) const {
  const std::vector<int>& first = layers[at(a)].classes;
  const std::vector<int>& second = layers[at(b)].classes;
  for (std::size_t i = 0, j = 0; i < first.size() && j < second.size();) {
    if (first[i] == second[j]) return true;
    first[i] < second[j] ? ++i : ++j;
  }
  return false;
}

LayerPath longest_path(const LayerGraph& graph) { return Walk(graph).longest(); }

}  // namespace nereus::cost
