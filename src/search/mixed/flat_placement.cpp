// Shares of teams as a placement, and the simple shares that a search is compared with.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "search/mixed/flat_plan.hpp"

namespace nereus::mixed {

namespace {

using plan::StateKind;

bool divides(const FlatManner& manner, StateKind kind) {
  switch (kind) {
    case StateKind::kOptimizer:
      return manner.zero >= 1;
    case StateKind::kGradients:
      return manner.zero >= 2;
    case StateKind::kWeights:
      return manner.zero >= 3;
  }
  return false;
}

std::int64_t units_of(double share) {
  return std::llround(share * static_cast<double>(plan::kStateUnits));
}

plan::Replicas replicas_of(const FlatManner& manner, const TeamShare& share, int first, int count,
                           std::int64_t first_sample) {
  plan::Replicas r;
  r.count = count;
  r.first = first;
  r.tp = r.team_stride = manner.tp;
  r.micro_batch = share.micro_batch;
  r.num_micro_batches = (share.samples + share.micro_batch - 1) / share.micro_batch;
  r.last_micro_batch = share.samples % share.micro_batch;
  r.first_sample = first_sample;
  r.recompute = manner.recompute;
  r.offload_activations = manner.offload;
  return r;
}

}  // namespace

plan::Placement flat_placement(const Machines& machines, const FlatManner& manner,
                               const std::vector<TeamShare>& teams) {
  plan::Placement p = machines.like();
  p.sequence_parallel = manner.tp > 1;
  p.gather = manner.zero >= 3 ? plan::Gather::kPerPass : plan::Gather::kPerStep;
  p.runs.assign(1, {});
  plan::LayerRun& run = p.runs.front();
  run.num_layers = machines.model().num_layers();
  // Neighbours that do the same are written once.
  std::int64_t sample = 0, unit = 0;
  double given = 0;
  std::vector<plan::StateShare> divided;
  plan::RankSet computing;
  std::size_t next = 0;
  std::vector<int> team_in_group(machines.groups().size());
  for (std::size_t i = 0; i < teams.size(); i = next) {
    next = i + 1;
    while (next < teams.size() && teams[next] == teams[i]) ++next;
    const auto count = static_cast<int>(next - i);
    const TeamShare& share = teams[i];
    int& before = team_in_group[share.group];
    const int first = machines.groups()[share.group].first + before * manner.tp;
    before += count;
    if (share.samples > 0) {
      run.replicas.push_back(replicas_of(manner, share, first, count, sample));
      sample += static_cast<std::int64_t>(count) * share.samples;
      computing.push_back({first, count, manner.tp});
    }
    given += count * share.state;
    const std::int64_t end = given >= 1 - 1e-9 ? plan::kStateUnits : units_of(given);
    if (share.state > 0 && end > unit) {
      plan::StateShare part;
      part.ranks = {{first, count, manner.tp}};
      part.pieces = count;
      part.begin = unit;
      part.end = end;
      divided.push_back(part);
      unit = end;
    }
  }
  p.global_batch = sample;
  // Equal shares everywhere are one, divided by all.
  const bool even = divided.size() > 1 &&
                    std::all_of(teams.begin(), teams.end(),
                                [&](const auto& t) { return t.state == teams.front().state; });
  if (even) {
    plan::StateShare all = divided.front();
    all.end = plan::kStateUnits;
    all.pieces = static_cast<int>(teams.size());
    for (std::size_t i = 1; i < divided.size(); ++i) all.ranks.push_back(divided[i].ranks.front());
    divided = {all};
  }
  for (const StateKind kind : {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer}) {
    plan::StateShare copies;
    copies.ranks = computing;
    for (plan::StateShare share :
         divides(manner, kind) ? divided : std::vector<plan::StateShare>{copies}) {
      share.kind = kind;
      share.cut = share.num_slices = manner.tp;
      run.state.push_back(share);
    }
  }
  return p;
}

std::optional<plan::Placement> simple_flat(Machines& machines, const FlatManner& manner,
                                           bool by_speed, int micro_batch) {
  std::vector<TeamShare> teams;
  std::vector<double> speed;
  double all = 0;
  for (std::size_t g = 0; g < machines.groups().size(); ++g)
    for (int t = 0; t < teams_of(manner, g); ++t) {
      teams.push_back({static_cast<int>(g), 0, 1, 0});
      speed.push_back(by_speed ? 1 / machines.seconds(manner_of(manner, static_cast<int>(g)), 1)
                               : 1);
      all += speed.back();
    }
  const auto batch = static_cast<double>(machines.like().global_batch);
  std::int64_t left = machines.like().global_batch;
  if (teams.empty() || left < static_cast<std::int64_t>(teams.size())) return std::nullopt;
  for (std::size_t i = 0; i < teams.size(); ++i) {
    teams[i].samples = std::max(1, static_cast<int>(batch * speed[i] / all));
    teams[i].state = 1 / static_cast<double>(teams.size());
    left -= teams[i].samples;
  }
  // Surplus samples go to the fastest team, missing ones come from the slowest, whatever their
  // order.
  std::vector<std::size_t> order(teams.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return left > 0 ? speed[a] > speed[b] : speed[a] < speed[b];
  });
  for (std::size_t next = 0; left != 0; next = (next + 1) % teams.size()) {
    const std::size_t i = order[next];
    if (left > 0 || teams[i].samples > 1) {
      teams[i].samples += left > 0 ? 1 : -1;
      left -= left > 0 ? 1 : -1;
    }
  }
  for (TeamShare& team : teams) team.micro_batch = std::min(micro_batch, team.samples);
  return flat_placement(machines, manner, teams);
}

}  // namespace nereus::mixed
