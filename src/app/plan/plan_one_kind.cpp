#include "app/plan/plan_one_kind.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "predict/general/general_predictor.hpp"
#include "search/mixed/canonical.hpp"

namespace nereus::app {

namespace {

constexpr int kFewNodes = 8;  // up to which every number is looked at

// The largest first: it is mostly the best, and cuts the others.
std::vector<cluster::Cluster> sizes_of(const cluster::Cluster& all, std::size_t group) {
  std::vector<cluster::Cluster> sizes;
  const auto add = [&](int nodes) {
    cluster::Cluster own;
    own.name = all.name;
    own.groups = {all.groups[group]};
    own.groups.front().count = nodes;
    own.levels = all.levels;
    sizes.push_back(std::move(own));
  };
  const int most = all.groups[group].count;
  add(most);
  for (int n = 2 * kFewNodes; n / 2 < most; n *= 2)
    for (const int nodes : {n, n / 4 * 3})
      if (nodes < most) add(nodes);
  for (int n = std::min(kFewNodes, most - 1); n > 0; --n) add(n);
  return sizes;
}

// The ranks of a group, as canonical(cluster) counts them.
std::vector<int> ranks_from(int first, int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

}  // namespace

std::vector<mixed::KnownPlan> plans_of_one_kind(const PlanRequest& request, const Inputs& inputs,
                                                const search::Choices& choices) {
  std::vector<mixed::KnownPlan> plans;
  const cluster::Cluster all = mixed::canonical(inputs.cluster).cluster;
  search::SearchOptions options = request.options;
  options.top = 1;
  options.counts = false;
  options.progress = {};
  int first = 0;
  for (std::size_t g = 0; g < all.groups.size(); first += all.groups[g++].num_devices()) {
    if (options.stop && options.stop()) break;
    const search::SearchResult found =
        search::search(inputs.model, sizes_of(all, g), inputs.basis, choices, options);
    if (found.plans.empty() || !(found.plans.front().prediction.step < options.limit)) continue;
    options.limit = found.plans.front().prediction.step;
    std::optional<plan::Placement> placement = mixed::renumbered(
        cost::expand_for(found.plans.front().degrees, inputs.model, inputs.basis.stack),
        ranks_from(first, all.groups[g].num_devices()));
    plans.push_back({kOneKind, std::move(*placement)});
  }
  return plans;
}

}  // namespace nereus::app
