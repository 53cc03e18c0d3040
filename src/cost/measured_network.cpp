#include "cost/measured_network.hpp"

#include <algorithm>
#include <cmath>

#include "profile/statistics.hpp"

namespace nereus::cost {

namespace {

using profile::Collective;

struct Row {
  double a = 0, b = 0, t = 0;
};

double seconds_of(const Collective& row, const Fabric& fabric, Group group) {
  if (row.kind == "all_reduce") return all_reduce_seconds(fabric, group, row.bytes);
  if (row.kind == "all_gather") return all_gather_seconds(fabric, group, row.bytes);
  return reduce_scatter_seconds(fabric, group, row.bytes);
}

// The formula's two numbers for the given level.
Row row_of(const Collective& own, bool inside) {
  const int per_host = std::max(1, own.ranks / own.hosts);
  const Group group{own.ranks, per_host};
  constexpr double kNoTime = 1e300;  // of a rate: bytes cost nothing
  Fabric bytes;
  bytes.link = inside ? 1 : kNoTime;
  bytes.network = inside ? kNoTime : 1;
  bytes.domain = per_host;
  Fabric steps = bytes;
  steps.link = steps.network = kNoTime;
  steps.link_latency = inside ? 1 : 0;
  steps.network_latency = inside ? 0 : 1;
  return {seconds_of(own, bytes, group), seconds_of(own, steps, group), own.seconds.median};
}

double error_of(const std::vector<Row>& rows, double x, double y) {
  std::vector<double> errors;
  for (const Row& row : rows) errors.push_back(std::abs((row.a * x + row.b * y) / row.t - 1));
  return profile::quantile(errors, 0.5);
}

LevelFit fit(const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (const Row& row : rows) {
    const double a = row.a / row.t, b = row.b / row.t;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    a1 += a;
    b1 += b;
  }
  const double det = aa * bb - ab * ab;
  double x = a1 / aa, y = 0;  // without latency
  // Rows of a single size cannot separate the two numbers.
  if (det > 1e-9 * aa * bb) {
    const double both_x = (a1 * bb - b1 * ab) / det, both_y = (b1 * aa - a1 * ab) / det;
    if (both_x > 0 && both_y >= 0) {
      x = both_x;
      y = both_y;
    }
  }
  return {1 / x, y, error_of(rows, x, y), static_cast<int>(rows.size())};
}

double host_rate_of(const profile::Machine& machine) {
  double rate = 0;
  for (const profile::Copy& own : machine.copies)
    if (own.kind == "host_to_device_pinned" || own.kind == "device_to_host_pinned")
      rate = rate > 0 ? std::min(rate, own.rate.median) : own.rate.median;
  return rate;
}

}  // namespace

const MeasuredNetwork* MeasuredNetworks::of(std::string_view device) const {
  for (const MeasuredNetwork& own : list)
    if (own.device == device) return &own;
  return nullptr;
}

MeasuredNetwork fit_network(const profile::Machine& machine, const std::string& device) {
  const profile::Context& context = machine.context;
  MeasuredNetwork network{device, context.backend, {}, {}, host_rate_of(machine), false};
  network.on_busy_cores = context.device == "CPU" && context.hosts == 1 && context.cores > 0 &&
                          context.ranks * std::max(1, context.threads) >= context.cores;
  std::vector<Row> inside, between;
  int most = 0;  // ranks a host of the rings that cross hosts
  for (const Collective& own : machine.collectives)
    if (own.hosts > 1) most = std::max(most, own.ranks / own.hosts);
  for (const Collective& own : machine.collectives) {
    if (own.hosts == 1) inside.push_back(row_of(own, true));
    if (own.hosts > 1 && own.ranks / own.hosts == most) between.push_back(row_of(own, false));
  }
  network.inside = fit(inside);
  network.between = fit(between);
  return network;
}

void use_measured(Fabric& fabric, Parameters& parameters, const MeasuredNetwork& measured) {
  if (measured.inside.rate > 0) {
    fabric.link = measured.inside.rate;
    fabric.link_latency = measured.inside.latency;
    if (measured.on_busy_cores)
      parameters.data_overlap = parameters.zero_overlap = parameters.shard_overlap = 0;
  }
  if (measured.between.rate > 0) {
    fabric.network = measured.between.rate;
    fabric.network_latency = measured.between.latency;
  }
}

}  // namespace nereus::cost
