// A burst plan layer by layer (predict/general/team_work.hpp): the time of each layer, its ranks,
// and its moves.
#include <algorithm>
#include <map>

#include "predict/general/team_work.hpp"

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Replicas;

namespace {

// Ranks that are in the same runs, by class; -1: in none.
std::vector<int> classes_of_ranks(const Context& context, int& num_classes) {
  const auto num_ranks = static_cast<std::size_t>(context.wires.num_ranks());
  std::vector<int> class_of(num_ranks, -1);
  std::vector<const LayerRun*> seen;
  num_classes = 0;
  for (const LayerRun& run : context.placement.runs) {
    const auto same = [&](const LayerRun* known) {
      return std::equal(known->replicas.begin(), known->replicas.end(), run.replicas.begin(),
                        run.replicas.end(), same_teams);
    };
    if (std::any_of(seen.begin(), seen.end(), same)) continue;
    seen.push_back(&run);
    std::vector<bool> inside(num_ranks);
    for (const Replicas& r : run.replicas)
      for_each_rank(r, [&](int rank, int) { inside[rank] = true; });
    // Classes by what they were and whether they are inside now, numbered by their first rank.
    std::map<std::pair<int, bool>, int> split;
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
      if (class_of[rank] < 0 && !inside[rank]) continue;
      const std::pair<int, bool> key{class_of[rank], inside[rank]};
      class_of[rank] = split.emplace(key, static_cast<int>(split.size())).first->second;
    }
    num_classes = static_cast<int>(split.size());
  }
  return class_of;
}

std::vector<int> classes_in(const LayerRun& run, const std::vector<int>& class_of) {
  std::vector<int> out;
  for (const Replicas& r : run.replicas)
    for_each_rank(r, [&](int rank, int) { out.push_back(class_of[rank]); });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void add_part(LaneTime& sum, const LaneTime& own, double share) {
  for (double StageTime::*part :
       {&StageTime::compute, &StageTime::recompute, &StageTime::tensor, &StageTime::context,
        &StageTime::expert, &StageTime::shard, &StageTime::offload, &StageTime::launch,
        &StageTime::total, &StageTime::passes, &StageTime::backward})
    sum.all.*part += share * own.all.*part;
  sum.one += share * own.one;
  sum.passes += share * own.passes;
  sum.backward += share * own.backward;
}

}  // namespace

bool Work::plays_layers() const {
  const Layout& layout = context_.layout;
  if (layout.pipeline.depth > 1 || context_.placement.runs.back().stage > 0 ||
      layout.lanes_run_through || context_.gathers_each())
    return false;
  for (const LayerRun& run : context_.placement.runs)
    for (const Replicas& r : run.replicas)
      if (r.num_micro_batches > 1) return false;
  return true;
}

// A layer's share of its segment's time, including the host, is proportional to its device seconds.
void Work::add_layers(const Segment& segment, LayerGraph& graph) {
  const std::vector<LaneTime> times = segment_times(segment);
  std::size_t slowest = 0;
  for (std::size_t l = 1; l < times.size(); ++l)
    if (times[l].total() > times[slowest].total()) slowest = l;
  const Lane& lane = segment.lanes[slowest];
  const std::size_t first = graph.layers.size();
  double device = 0;
  for (const int index : segment.runs) {
    const LayerRun& run = context_.run(index);
    const Rounds rounds = context_.rounds(replicas_of(run, lane));
    std::map<std::pair<int, bool>, LayerTime> known;  // by kind, and whether it is recomputed
    const int again = replicas_of(run, lane).recompute_layers;
    for (int i = 0; i < run.num_layers; ++i) {
      const int kind = context_.model.layers[run.first_layer + i];
      const auto [at, is_new] = known.try_emplace({kind, again < 0 || i < again});
      if (is_new)
        for (const int machine : lane.kinds) {
          const LayerTime time = time_of({index, kind, i, 1}, lane, machine, rounds);
          if (time.device() > at->second.device()) at->second = time;
        }
      const LayerTime& own = at->second;
      graph.layers.push_back(
          {run.first_layer + i, {}, own.forward, std::max(0.0, own.device() - own.forward)});
      device += graph.layers.back().seconds();
    }
  }
  const double scale = device > 0 ? times[slowest].all.total / device : 0;
  for (std::size_t i = first; i < graph.layers.size(); ++i) {
    graph.layers[i].forward *= scale;
    graph.layers[i].backward *= scale;
  }
}

void Work::add_moves(LayerGraph& graph) {
  for (const model::Edge& edge : model::all_edges(context_.model))
    graph.moves.push_back({edge.from, edge.to, 0.5 * moves_.of_edge(edge)});
  std::stable_sort(graph.moves.begin(), graph.moves.end(),
                   [](const LayerMove& a, const LayerMove& b) { return a.to < b.to; });
}

std::optional<LayerGraph> Work::layer_graph() {
  if (!plays_layers()) return std::nullopt;
  LayerGraph graph;
  int num_classes = 0;
  const std::vector<int> class_of = classes_of_ranks(context_, num_classes);
  graph.classes.resize(static_cast<std::size_t>(num_classes));
  for (std::size_t rank = 0; rank < class_of.size(); ++rank)
    if (class_of[rank] >= 0) graph.classes[class_of[rank]].push_back(static_cast<int>(rank));
  for (const Segment& segment : context_.layout.stages.front().segments) add_layers(segment, graph);
  for (const LayerRun& run : context_.placement.runs) {
    const std::vector<int> classes = classes_in(run, class_of);
    for (int i = 0; i < run.num_layers; ++i) graph.layers[run.first_layer + i].classes = classes;
  }
  add_moves(graph);
  return graph;
}

LaneTime Work::on_longest_path(const std::vector<LaneTime>& segments) {
  const LayerGraph graph = *layer_graph();
  const LayerPath path = longest_path(graph);
  std::vector<std::size_t> segment_of(graph.layers.size());
  const std::vector<Segment>& all = context_.layout.stages.front().segments;
  for (std::size_t s = 0; s < all.size(); ++s)
    for (const int index : all[s].runs)
      for (int i = 0; i < context_.run(index).num_layers; ++i)
        segment_of[context_.run(index).first_layer + i] = s;
  LaneTime out;
  out.num_micro_batches = 1;
  double whole = 0, taken = 0;
  for (const LaneTime& segment : segments) whole += segment.total();
  for (const int i : path.layers) {
    const double seconds = graph.layers[i].seconds();
    const LaneTime& own = segments[segment_of[i]];
    if (own.total() > 0) add_part(out, own, seconds / own.total());
    taken += seconds;
  }
  for (const int i : path.moves) out.moved += 2 * graph.moves[i].each_way;
  out.one += out.moved;
  out.passes += out.moved;
  out.backward += out.moved;
  out.on_path = whole > 0 ? taken / whole : 1;
  return out;
}

}  // namespace nereus::cost::general
