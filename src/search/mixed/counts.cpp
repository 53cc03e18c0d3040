#include "search/mixed/counts.hpp"

#include <algorithm>

namespace nereus::mixed {

namespace {

// Number of teams per node, and in total; 0 if tp does not divide a node's devices.
int teams_of_node(const Group& group, int tp) {
  return group.per_node % tp == 0 ? group.per_node / tp : 0;
}
int all_teams(const Group& group, int tp) {
  return teams_of_node(group, tp) * (group.count / group.per_node);
}

std::vector<int> all_or_none(const Group& group, int tp) {
  const int all = all_teams(group, tp);
  return all > 0 ? std::vector{all, 0} : std::vector{0};
}

std::vector<int> every_team(const Group& group, int tp) {
  std::vector<int> list;
  for (int n = all_teams(group, tp); n >= 0; --n) list.push_back(n);
  return list;
}

std::vector<int> every_node(const Group& group, int tp) {
  std::vector<int> list;
  if (teams_of_node(group, tp) > 0)
    for (int n = group.count / group.per_node; n > 0; --n)
      list.push_back(n * teams_of_node(group, tp));
  list.push_back(0);
  return list;
}

std::vector<int> some_nodes(const Group& group, int tp) {
  std::vector<int> list = all_or_none(group, tp);
  for (int n = 1; n < group.count / group.per_node; n *= 2)
    for (const int nodes : {n, n + n / 2})
      if (nodes < group.count / group.per_node) list.push_back(nodes * teams_of_node(group, tp));
  std::sort(list.begin(), list.end(), std::greater<>());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

using Step = std::vector<int> (*)(const Group& group, int tp);

// All combinations; empty if there are too many.
std::vector<std::vector<int>> combinations(const std::vector<Group>& groups, int tp, Step step) {
  std::vector<std::vector<int>> lists = {{}};
  for (const Group& group : groups) {
    const std::vector<int> own = step(group, tp);
    if (lists.size() * own.size() > kMostCounts) return {};
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& before : lists)
      for (const int n : own) {
        longer.push_back(before);
        longer.back().push_back(n);
      }
    lists = std::move(longer);
  }
  return lists;
}

std::vector<std::vector<int>> quickest_groups(Machines& machines, int tp) {
  std::vector<std::vector<int>> lists;
  std::vector<int> uses(machines.groups().size());
  for (const int g : groups_by_rate(machines)) {
    const auto at = static_cast<std::size_t>(g);
    uses[at] = all_teams(machines.groups()[at], tp);
    lists.push_back(uses);
    if (lists.size() == kMostCounts) break;
  }
  std::reverse(lists.begin(), lists.end());
  return lists;
}

}  // namespace

TeamCounts team_counts(Machines& machines, int tp) {
  TeamCounts out;
  for (const Step step : {every_team, every_node, some_nodes, all_or_none}) {
    out.lists = combinations(machines.groups(), tp, step);
    if (!out.lists.empty()) break;
    out.every = false;
  }
  if (out.lists.empty()) out.lists = quickest_groups(machines, tp);
  std::erase_if(out.lists, [](const std::vector<int>& list) {
    return std::all_of(list.begin(), list.end(), [](int n) { return n == 0; });
  });
  return out;
}

std::vector<std::vector<int>> neighbours(const Machines& machines, int tp,
                                         const std::vector<int>& uses) {
  std::vector<std::vector<int>> lists;
  for (std::size_t g = 0; g < uses.size(); ++g) {
    const int node = teams_of_node(machines.groups()[g], tp);
    for (const int more : {1, -1, node, -node}) {
      std::vector<int> other = uses;
      other[g] += more;
      if (other[g] >= 0 && other[g] <= all_teams(machines.groups()[g], tp) && other != uses &&
          std::find(lists.begin(), lists.end(), other) == lists.end())
        lists.push_back(std::move(other));
    }
  }
  std::erase_if(lists, [](const std::vector<int>& list) {
    return std::all_of(list.begin(), list.end(), [](int n) { return n == 0; });
  });
  return lists;
}

std::vector<int> groups_by_rate(Machines& machines) {
  std::vector<std::pair<double, int>> rates;
  for (std::size_t g = 0; g < machines.groups().size(); ++g) {
    const int group = static_cast<int>(g);
    rates.emplace_back(-machines.rate({group, 1, {}}) * machines.groups()[g].count, group);
  }
  std::sort(rates.begin(), rates.end());
  std::vector<int> order;
  for (const auto& [rate, group] : rates) order.push_back(group);
  return order;
}

}  // namespace nereus::mixed
