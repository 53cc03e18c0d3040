#include "api/reports/placement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"

namespace nereus::api {

namespace {

const std::string& device_at(const cluster::Cluster& cluster, int rank) {
  return cluster.device_at(rank).short_name;
}

// The part of the run's optimizer state that lies on a rank.
double state_on(const plan::LayerRun& run, int rank) {
  double sum = 0;
  for (const plan::StateShare& share : run.state) {
    if (share.kind != plan::StateKind::kOptimizer || share.peer_copy) continue;
    for (const plan::RankRange& ranks : share.ranks)
      for (int s = 0; s < share.num_slices; ++s) {
        const int offset = rank - s * share.slice_stride - ranks.first;
        if (offset >= 0 && offset % ranks.stride == 0 && offset / ranks.stride < ranks.count)
          sum += static_cast<double>(share.end - share.begin) /
                 static_cast<double>(plan::kStateUnits) / share.pieces / share.cut;
      }
  }
  return sum;
}

struct Does {
  std::string device;
  int first_layer = -1;  // -1: computes nothing
  int num_layers = 0;
  bool in_parts = false;  // virtual stages
  std::int64_t samples = 0;
  int micro_batch = 0;
  int tp = 1;
  double state = 0;
  auto operator<=>(const Does&) const = default;
};

// The work of every rank, from the first of its runs.
std::vector<Does> by_rank(const plan::Placement& p, const cluster::Cluster& cluster) {
  std::vector<Does> all(static_cast<std::size_t>(cluster.num_devices()));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    all[rank].device = device_at(cluster, static_cast<int>(rank));
    for (const plan::LayerRun& run : p.runs)
      all[rank].state = std::max(all[rank].state, state_on(run, static_cast<int>(rank)));
  }
  for (const plan::LayerRun& run : p.runs)
    for (const plan::Replicas& r : run.replicas)
      for (int team = 0; team < r.count; ++team)
        for (int slice = 0; slice < r.tp * r.cp; ++slice) {
          Does& own = all[r.first + team * r.team_stride + slice % r.tp * r.tensor_stride +
                          slice / r.tp * r.context_stride];
          own.in_parts |=
              own.first_layer >= 0 && own.first_layer + own.num_layers != run.first_layer;
          own.first_layer = own.first_layer < 0 ? run.first_layer : own.first_layer;
          own.num_layers += run.num_layers;
          own.samples = r.samples_per_team();
          own.micro_batch = r.micro_batch;
          own.tp = r.tp;
        }
  return all;
}

}  // namespace

std::string manner_text(const plan::Placement& p) {
  const plan::Replicas& r = p.runs.front().replicas.front();
  std::set<plan::StateKind> divided;
  for (const plan::StateShare& share : p.runs.front().state)
    if (share.pieces > 1 || share.end - share.begin < plan::kStateUnits) divided.insert(share.kind);
  std::string text;
  std::set<int> stages;  // by their first rank, which virtual stages share
  for (const plan::LayerRun& run : p.runs) stages.insert(run.replicas.front().first);
  if (p.runs.size() > 1)
    text = fmt::format("{}, micro-batch {} x {}, ", counted(stages.size(), "stage"), r.micro_batch,
                       r.num_micro_batches);
  if (p.runs.size() > stages.size())
    text += fmt::format("{}, ", counted(p.runs.size() / stages.size(), "virtual stage"));
  if (r.tp > 1) text += fmt::format("tp {}, ", r.tp);
  if (r.cp > 1) text += fmt::format("cp {}, ", r.cp);
  text += fmt::format("ZeRO-{}", divided.size());
  if (r.recompute != plan::Recompute::kNone)
    text += fmt::format(", {} recompute", to_string(r.recompute));
  if (r.offload_activations > 0) text += ", activations in host memory";
  if (divided.size() == 3 && p.gather == plan::Gather::kPerPass)
    text +=
        ", all micro-batches per "
        "layer";
  return text;
}

int num_idle(const plan::Placement& p, const cluster::Cluster& cluster) {
  int idle = 0;
  for (const Does& own : by_rank(p, cluster)) idle += own.first_layer < 0 && own.state <= 0;
  return idle;
}

Table placement_table(const plan::Placement& p, const cluster::Cluster& cluster) {
  Table table{.name = "devices", .title = "Work per device in the best plan"};
  table.columns = {{"devices", "devices"},
                   {"layers", "layers"},
                   {"samples", "samples per step", Unit::kCount},
                   {"micro_batch", "micro-batch"},
                   {"tp", "tp"},
                   {"state", "share of its layers' optimizer state", Unit::kShare}};
  const std::vector<Does> all = by_rank(p, cluster);
  // In the order of the layers, then of the ranks; idle ranks last.
  std::vector<std::pair<Does, int>> rows;
  for (const Does& own : all) {
    const auto known =
        std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first == own; });
    if (known == rows.end())
      rows.emplace_back(own, 1);
    else
      ++known->second;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    const auto key = [](const Does& d) { return d.first_layer < 0 ? 1 << 30 : d.first_layer; };
    return key(a.first) < key(b.first);
  });
  for (const auto& [own, count] : rows) {
    const std::string devices = fmt::format("{} x {}", count, own.device);
    if (own.first_layer < 0)
      table.rows.push_back({devices, own.state > 0 ? "stores state only" : "idle", Cell{}, Cell{},
                            Cell{}, own.state > 0 ? Cell{own.state} : Cell{}});
    else
      table.rows.push_back(
          {devices,
           own.in_parts
               ? fmt::format("{}, from {}", counted(own.num_layers, "layer"), own.first_layer)
               : fmt::format("{} to {}", own.first_layer, own.first_layer + own.num_layers - 1),
           static_cast<double>(own.samples), own.micro_batch, own.tp, own.state});
  }
  return table;
}

}  // namespace nereus::api
