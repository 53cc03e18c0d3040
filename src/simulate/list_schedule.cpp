#include "simulate/list_schedule.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/error.hpp"

namespace nereus::simulate {

int Graph::add(GraphNode node) {
  const int number = static_cast<int>(nodes_.size());
  NEREUS_CHECK(node.lane >= 0 && node.duration >= 0, "a node has a lane and takes no less than 0");
  for (const int before : node.after)
    NEREUS_CHECK(before >= 0 && before < number, "a node waits only for earlier ones");
  num_lanes_ = std::max(num_lanes_, node.lane + 1);
  nodes_.push_back(std::move(node));
  return number;
}

ListSchedule run(const Graph& graph) {
  const std::vector<GraphNode>& nodes = graph.nodes();
  const auto lanes = static_cast<std::size_t>(graph.num_lanes());
  ListSchedule schedule;
  schedule.starts.resize(nodes.size());
  schedule.busy.resize(lanes);

  std::vector<std::vector<int>> waiting_for(nodes.size());
  std::vector<std::size_t> missing(nodes.size());
  using Lowest = std::priority_queue<int, std::vector<int>, std::greater<>>;
  std::vector<Lowest> ready(lanes);
  std::vector<bool> occupied(lanes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    missing[i] = nodes[i].after.size();
    for (const int before : nodes[i].after) waiting_for[before].push_back(static_cast<int>(i));
    if (missing[i] == 0) ready[nodes[i].lane].push(static_cast<int>(i));
  }

  using Done = std::pair<std::int64_t, int>;  // when, node
  std::priority_queue<Done, std::vector<Done>, std::greater<>> running;
  std::vector<std::size_t> changed;  // lanes that may start something
  for (std::size_t lane = 0; lane < lanes; ++lane) changed.push_back(lane);
  const auto start_what_can = [&](std::int64_t now) {
    for (const std::size_t lane : changed) {
      if (occupied[lane] || ready[lane].empty()) continue;
      const int next = ready[lane].top();
      ready[lane].pop();
      const GraphNode& node = nodes[next];
      schedule.starts[next] = now;
      schedule.busy[lane] += node.duration;
      occupied[lane] = true;
      running.emplace(now + node.duration, next);
    }
    changed.clear();
  };

  start_what_can(0);
  while (!running.empty()) {
    const std::int64_t now = running.top().first;
    // Everything that ends now frees its lane before anything new starts, so that the order of the
    // queue never decides which node comes first.
    while (!running.empty() && running.top().first == now) {
      const auto done = static_cast<std::size_t>(running.top().second);
      running.pop();
      const auto freed = static_cast<std::size_t>(nodes[done].lane);
      occupied[freed] = false;
      changed.push_back(freed);
      for (const int next : waiting_for[done]) {
        if (--missing[next] > 0) continue;
        const auto lane = static_cast<std::size_t>(nodes[next].lane);
        ready[lane].push(next);
        changed.push_back(lane);
      }
    }
    schedule.end = now;
    start_what_can(now);
  }
  return schedule;
}

}  // namespace nereus::simulate
