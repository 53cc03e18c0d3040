#include "app/validate/validate_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/format.hpp"
#include "calibrate/sites.hpp"
#include "cluster/catalogue.hpp"
#include "simulate/compat/astra_table.hpp"
#include "simulate/nccl_fit.hpp"
#include "simulate/network/collective_run.hpp"
#include "simulate/table_cells.hpp"
#include "spec/csv.hpp"

namespace nereus::app {

namespace {

using simulate::AstraAlgorithm;
using simulate::AstraDimension;
using simulate::AstraTopology;
using simulate::Collective;
using simulate::MeasuredCollective;

constexpr int kMostPlayed = 4096;  // ranks
constexpr const char* kTopologyNames[] = {"Ring", "FullyConnected", "Switch"};

std::string name_of(const std::vector<AstraDimension>& dimensions) {
  std::string text;
  for (const AstraDimension& d : dimensions)
    text += fmt::format("{}{}({})", text.empty() ? "" : " x ",
                        kTopologyNames[static_cast<int>(d.topology)], d.num_ranks);
  return text;
}

// ASTRA-sim's formula for one row of a table of its runs.
simulate::AstraOutcome astra_says(const simulate::AstraCollectiveRow& row) {
  if (row.dimensions.size() > 1) return {0, "several dimensions have no formula"};
  if (row.dimensions[0].num_ranks == 1) return {0, "one rank has nothing to send"};
  return simulate::astra_time(row.system, row.dimensions[0], row.collective, row.bytes);
}

void add(ValidateNetworkAnswer& answer, int line, std::string what, std::int64_t reference,
         const simulate::AstraOutcome& outcome) {
  ++answer.rows;
  if (reference < 0)
    ++answer.skipped["ASTRA-sim gave no time"];
  else if (!outcome.why_not.empty())
    ++answer.skipped[outcome.why_not];
  else
    answer.used.push_back(
        {line, std::move(what), static_cast<double>(reference), static_cast<double>(outcome.ns)});
}

// The same networks and algorithms in our simulator, where links are shared and nothing is faster
// than its wire. ASTRA-sim's all-gather counts the bytes that each rank contributes.
simulate::AstraOutcome we_say(const simulate::AstraCollectiveRow& row) {
  constexpr simulate::DimensionKind kKinds[] = {simulate::DimensionKind::kRing,
                                                simulate::DimensionKind::kFullyConnected,
                                                simulate::DimensionKind::kSwitch};
  constexpr simulate::Algorithm kAlgorithms[] = {
      simulate::Algorithm::kRing, simulate::Algorithm::kDirect,
      simulate::Algorithm::kHalvingDoubling, simulate::Algorithm::kDoubleTree};
  simulate::CollectiveRequest request{.collective = row.collective, .chunks = row.system.splits};
  std::vector<simulate::Dimension> dimensions;
  std::int64_t ranks = 1;
  bool offered = true;
  for (const AstraDimension& d : row.dimensions) {
    dimensions.push_back(
        {kKinds[static_cast<int>(d.topology)], d.num_ranks, d.bandwidth * kGiB, d.latency * 1e-9});
    request.algorithms.push_back(kAlgorithms[static_cast<int>(d.algorithm)]);
    offered &= d.algorithm != AstraAlgorithm::kDoubleBinaryTree ||
               (row.dimensions.size() == 1 && row.collective == Collective::kAllReduce);
    ranks = std::min<std::int64_t>(ranks * d.num_ranks, kMostPlayed + 1);
  }
  if (ranks < 2) return {0, "one rank has nothing to send"};
  if (ranks > kMostPlayed) return {0, fmt::format("more than {} ranks", kMostPlayed)};
  if (row.bytes == 0) return {0, "no bytes to send"};
  if (!offered) return {0, "a tree can only do an all-reduce in one dimension"};
  request.bytes = static_cast<double>(row.bytes) *
                  (row.collective == Collective::kAllGather ? static_cast<double>(ranks) : 1);
  const simulate::Network network(std::move(dimensions));
  if (simulate::num_transfers(network, request) > simulate::kMostTransfers)
    return {0, fmt::format("more than {} transfers", simulate::kMostTransfers)};
  return {std::llround(simulate::simulate(network, request).seconds * 1e9), {}};
}

void compare_astra_collectives(const spec::Csv& csv, bool astra_sim,
                               ValidateNetworkAnswer& answer) {
  for (const auto& row : simulate::read_astra_collectives(csv))
    add(answer, row.line,
        fmt::format("{} of {} on {}", to_string(row.collective),
                    format_bytes(Bytes{static_cast<double>(row.bytes)}), name_of(row.dimensions)),
        row.simulated_ns, astra_sim ? astra_says(row) : we_say(row));
}

void compare_astra_iterations(const spec::Csv& csv, ValidateNetworkAnswer& answer) {
  for (const auto& row : simulate::read_astra_iterations(csv)) {
    const auto iteration = simulate::astra_iteration(row.system, row.decoder, row.tensor, row.data);
    add(answer, row.line,
        fmt::format("{} layers, tp {} x dp {}", row.decoder.layers, row.decoder.tp, row.decoder.dp),
        row.simulated_ns, {iteration.ns, iteration.why_not});
  }
}

struct MeasuredRow {
  int line = 0;
  MeasuredCollective measured;
  double memory_bandwidth = 0;
  std::string what;
};

// The wire of a device is its link in its maker's own machine.
std::vector<MeasuredRow> read_measured(const spec::Csv& csv, ValidateNetworkAnswer& answer) {
  csv.require_all({"gpu", "gpus", "bytes", "collective", "measured_ns"});
  const cluster::Catalogue& known = cluster::builtin_catalogue();
  ErrorList errors;
  std::vector<MeasuredRow> rows;
  for (const spec::CsvRow& line : csv.rows) {
    simulate::Cells cells(csv, line, errors);
    ++answer.rows;
    MeasuredRow row;
    row.line = line.line;
    row.measured.call.num_ranks = static_cast<int>(cells.whole("gpus", 1, 65'536));
    row.measured.call.bytes = static_cast<double>(cells.whole("bytes", 1, std::int64_t{1} << 44));
    row.measured.seconds = cells.number("measured_ns", 1e-3, 1e18) * 1e-9;
    row.measured.call.collective = cells.collective();
    const cluster::Device* device = known.find_device(cells.text("gpu"));
    const cluster::Node* node = device ? calibrate::reference_node(*device) : nullptr;
    if (device == nullptr) {
      errors.add(known.unknown_device(cells.text("gpu"), csv.where(line, csv.find("gpu"))));
    } else if (node == nullptr || !(node->inside.bandwidth.value > 0)) {
      ++answer.skipped[fmt::format("no known link between {}", device->name)];
    } else if (row.measured.call.num_ranks < 2) {
      ++answer.skipped["one rank has nothing to send"];
    } else if (row.measured.call.num_ranks > node->domain()) {
      ++answer.skipped[fmt::format("more than the {} one {} joins",
                                   counted(node->domain(), "device"), node->name)];
    } else {
      row.measured.call.wire = node->inside.bandwidth.value;
      row.memory_bandwidth = device->memory_bandwidth.value;
      row.what = fmt::format("{} of {} on {} {}", to_string(row.measured.call.collective),
                             format_bytes(Bytes{row.measured.call.bytes}),
                             row.measured.call.num_ranks, device->short_name);
      rows.push_back(std::move(row));
    }
  }
  errors.throw_if_any();
  return rows;
}

void compare_measured(const spec::Csv& csv, bool astra_sim, ValidateNetworkAnswer& answer) {
  answer.measured = true;
  const std::vector<MeasuredRow> rows = read_measured(csv, answer);
  if (rows.empty()) return;
  std::vector<MeasuredCollective> measured;
  for (const MeasuredRow& row : rows) measured.push_back(row.measured);
  if (!astra_sim) {
    answer.fitted = simulate::fit_numbers(measured);
    answer.leave_one_size_out_error = simulate::leave_one_size_out(measured);
    answer.built_in_mean_abs_error = simulate::mean_abs_error(simulate::kNcclA100, measured);
  }
  for (const MeasuredRow& row : rows) {
    const simulate::NcclCall& call = row.measured.call;
    double ns = 0;
    if (astra_sim) {
      // The usual ASTRA-sim configuration of such a node: a switch with the nominal rate of the
      // links, rings, 500 ns per hop. Its all-gather counts the bytes that each rank contributes.
      const bool gather = call.collective == Collective::kAllGather;
      ns = static_cast<double>(
          simulate::astra_time(
              {.memory = row.memory_bandwidth / 1e9},
              {AstraTopology::kSwitch, AstraAlgorithm::kRing, call.num_ranks, call.wire / 1e9, 500},
              call.collective,
              static_cast<std::int64_t>(gather ? call.bytes / call.num_ranks : call.bytes))
              .ns);
    } else {
      ns = 1e9 * simulate::collective_seconds(*answer.fitted, call);
    }
    answer.used.push_back({row.line, row.what, row.measured.seconds * 1e9, ns});
  }
}

void sum_up(ValidateNetworkAnswer& answer) {
  for (const NetworkRow& row : answer.used) {
    const double error = std::abs(row.predicted_ns / row.reference_ns - 1);
    answer.mean_abs_error += error / static_cast<double>(answer.used.size());
    answer.max_abs_error = std::max(answer.max_abs_error, error);
    answer.exact += std::llround(row.predicted_ns) == std::llround(row.reference_ns) ? 1 : 0;
  }
}

void need_compat(bool astra_sim) {
  if (!astra_sim)
    throw_input_error("network.needs-compat", "--iterations contains times simulated by ASTRA-sim",
                      {}, "add --compat astra-sim");
}

}  // namespace

ValidateNetworkAnswer validate_network(const ValidateNetworkRequest& request) {
  const std::string& file = request.collectives.empty() ? request.iterations : request.collectives;
  const spec::Csv csv = spec::read_csv(file);
  ValidateNetworkAnswer answer;
  if (request.collectives.empty()) {
    need_compat(request.astra_sim);
    compare_astra_iterations(csv, answer);
  } else if (csv.find("measured_ns") >= 0) {
    compare_measured(csv, request.astra_sim, answer);
  } else {
    compare_astra_collectives(csv, request.astra_sim, answer);
  }
  if (answer.used.empty()) {
    std::string reasons;
    for (const auto& [why, count] : answer.skipped)
      reasons += fmt::format("{}{} x {}", reasons.empty() ? "" : "; ", count, why);
    throw_input_error("network.none-usable",
                      fmt::format("no row can be computed: {}",
                                  reasons.empty() ? "the table has no rows" : reasons),
                      {file});
  }
  sum_up(answer);
  return answer;
}

}  // namespace nereus::app
