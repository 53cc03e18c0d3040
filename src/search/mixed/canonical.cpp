#include "search/mixed/canonical.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "cluster/write_cluster.hpp"

namespace nereus::mixed {

namespace {

// The fields of a node that affect training, in a fixed order.
std::string key_of(const cluster::Node& node) {
  cluster::Node own = node;
  own.name.clear();
  own.provider.clear();
  own.source.clear();
  own.price = {};
  cluster::Cluster one;
  one.groups = {{1, own}};
  return cluster::cluster_to_json(one);
}

bool neighbours_count(const cluster::Cluster& cluster) {
  if (cluster.levels.size() > 1) return true;
  return std::any_of(cluster.groups.begin(), cluster.groups.end(), [](const auto& group) {
    return group.node.domain() > group.node.num_devices;
  });
}

int at(const std::vector<int>& rank_of, int rank) { return rank_of[rank]; }

bool keeps_its_shape(const plan::Replicas& teams, int first, const std::vector<int>& rank_of) {
  for (int c = 0; c < teams.cp; ++c)
    for (int t = 0; t < teams.tp; ++t) {
      const int within = c * teams.context_stride + t * teams.tensor_stride;
      if (at(rank_of, first + within) != at(rank_of, first) + within) return false;
    }
  return true;
}

// Teams that still lie team_stride apart stay together.
bool renumber(const plan::Replicas& teams, const std::vector<int>& rank_of,
              std::vector<plan::Replicas>& out) {
  for (int i = 0; i < teams.count; ++i) {
    const int first = teams.first + i * teams.team_stride;
    if (!keeps_its_shape(teams, first, rank_of)) return false;
    const int now = at(rank_of, first);
    if (i > 0 && now == out.back().first + out.back().count * teams.team_stride) {
      ++out.back().count;
      continue;
    }
    plan::Replicas piece = teams;
    piece.count = 1;
    piece.first = now;
    piece.first_sample = teams.first_sample + i * teams.team_step();
    out.push_back(piece);
  }
  return true;
}

bool renumber(plan::StateShare& share, const std::vector<int>& rank_of) {
  plan::RankSet ranks;
  for (const plan::RankRange& range : share.ranks)
    for (int i = 0; i < range.count; ++i) {
      const int rank = range.first + i * range.stride, now = at(rank_of, rank);
      for (int slice = 1; slice < share.num_slices; ++slice)
        if (at(rank_of, rank + slice * share.slice_stride) != now + slice * share.slice_stride)
          return false;
      if (i > 0 && now == ranks.back().first + ranks.back().count * range.stride)
        ++ranks.back().count;
      else
        ranks.push_back({now, 1, range.stride});
    }
  share.ranks = std::move(ranks);
  return true;
}

}  // namespace

Canonical canonical(const cluster::Cluster& given) {
  Canonical out;
  std::map<std::string, std::vector<std::size_t>> kinds;  // groups of each, in the given order
  const bool fixed = neighbours_count(given);
  for (std::size_t g = 0; g < given.groups.size(); ++g) {
    // A prefix of its place keeps a group that must not move.
    std::string place = std::to_string(g);
    place.insert(0, 8 - std::min<std::size_t>(8, place.size()), '0');
    kinds[fixed ? place : key_of(given.groups[g].node)].push_back(g);
  }
  std::vector<int> first;
  int ranks = 0;
  for (const cluster::NodeGroup& group : given.groups) {
    first.push_back(ranks);
    ranks += group.num_devices();
  }
  out.cluster.name = given.name;
  out.cluster.levels = given.levels;
  for (const auto& [key, members] : kinds) {
    cluster::NodeGroup group = given.groups[members.front()];
    group.count = 0;
    for (const std::size_t g : members) {
      group.count += given.groups[g].count;
      for (int r = 0; r < given.groups[g].num_devices(); ++r) {
        out.same &= static_cast<int>(out.rank_of.size()) == first[g] + r;
        out.rank_of.push_back(first[g] + r);
      }
    }
    out.cluster.groups.push_back(std::move(group));
  }
  return out;
}

std::optional<plan::Placement> renumbered(plan::Placement placement,
                                          const std::vector<int>& rank_of) {
  for (plan::LayerRun& run : placement.runs) {
    std::vector<plan::Replicas> replicas;
    for (const plan::Replicas& teams : run.replicas)
      if (!renumber(teams, rank_of, replicas)) return std::nullopt;
    run.replicas = std::move(replicas);
    for (plan::StateShare& share : run.state)
      if (!renumber(share, rank_of)) return std::nullopt;
  }
  return placement;
}

}  // namespace nereus::mixed
