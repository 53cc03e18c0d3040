#include "simulate/compat/astra_table.hpp"

#include <fmt/format.h>

#include <string>

#include "base/format.hpp"
#include "simulate/table_cells.hpp"

namespace nereus::simulate {

namespace {

// Bounds that keep every time within 64 bits; far beyond any machine.
constexpr std::int64_t kMostRanks = 65'536;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 44;
constexpr double kLeastBandwidth = 1e-6, kMostBandwidth = 1e6;  // GB/s

const std::vector<std::string> kTopologies = {"Ring", "FullyConnected", "Switch"};
const std::vector<std::string> kAlgorithms = {"ring", "direct", "halvingDoubling",
                                              "doubleBinaryTree"};

AstraSystem system_of(Cells& cells) {
  AstraSystem system;
  if (!cells.blank("backend"))
    system.aware = cells.word_of("backend", cells.text("backend"), {"unaware", "aware"}) == 1;
  if (!cells.blank("dataset_splits"))
    system.splits = static_cast<int>(cells.whole("dataset_splits", 1, 65'536));
  if (!cells.blank("active_chunks_per_dim"))
    system.active_chunks = static_cast<int>(cells.whole("active_chunks_per_dim", 1, 65'536));
  if (!cells.blank("endpoint_delay"))
    system.endpoint_delay = static_cast<int>(cells.whole("endpoint_delay", 0, 1'000'000'000));
  if (!cells.blank("local_mem_GBps"))
    system.memory = cells.number("local_mem_GBps", kLeastBandwidth, 1e9);
  return system;
}

std::vector<AstraDimension> dimensions_of(Cells& cells) {
  const auto topologies = cells.parts("topology", '_');
  const auto ranks = cells.parts("npus_per_dim", 'x');
  const auto bandwidths = cells.parts("link_bandwidth_GBps_per_dim", '|');
  const auto latencies = cells.parts("link_latency_ns_per_dim", '|');
  const auto algorithms = cells.parts("algorithm_per_dim", '|');
  const std::size_t n = topologies.size();
  std::vector<AstraDimension> dimensions(n);
  const auto as_many = [&](const char* column, std::size_t given) {
    if (given == n) return true;
    cells.wrong(column, fmt::format("{} has {} for {}", column, counted(given, "entry", "entries"),
                                    counted(n, "dimension")));
    return false;
  };
  if (!as_many("npus_per_dim", ranks.size()) ||
      !as_many("link_bandwidth_GBps_per_dim", bandwidths.size()) ||
      !as_many("link_latency_ns_per_dim", latencies.size()) ||
      !as_many("algorithm_per_dim", algorithms.size()))
    return dimensions;
  for (std::size_t i = 0; i < n; ++i) {
    AstraDimension& d = dimensions[i];
    d.topology = static_cast<AstraTopology>(cells.word_of("topology", topologies[i], kTopologies));
    d.algorithm =
        static_cast<AstraAlgorithm>(cells.word_of("algorithm_per_dim", algorithms[i], kAlgorithms));
    d.num_ranks = static_cast<int>(cells.whole_of("npus_per_dim", ranks[i], 1, kMostRanks));
    d.bandwidth = cells.number_of("link_bandwidth_GBps_per_dim", bandwidths[i], kLeastBandwidth,
                                  kMostBandwidth);
    d.latency = cells.number_of("link_latency_ns_per_dim", latencies[i], 0, 1e12);
  }
  return dimensions;
}

std::int64_t simulated_ns(Cells& cells) {
  const std::string& cell = cells.text("simulated_ns");
  if (cell.empty() || cell == "none") return -1;
  return cells.whole("simulated_ns", 1, std::int64_t{1} << 62);
}

const std::vector<std::string> kNetworkColumns = {"topology", "npus_per_dim",
                                                  "link_bandwidth_GBps_per_dim",
                                                  "link_latency_ns_per_dim", "algorithm_per_dim"};

void require(const spec::Csv& csv, std::vector<std::string> columns) {
  columns.insert(columns.begin(), kNetworkColumns.begin(), kNetworkColumns.end());
  csv.require_all(columns);
}

}  // namespace

std::vector<AstraCollectiveRow> read_astra_collectives(const spec::Csv& csv) {
  require(csv, {"collective", "bytes", "simulated_ns"});
  ErrorList errors;
  std::vector<AstraCollectiveRow> rows;
  for (const spec::CsvRow& line : csv.rows) {
    Cells cells(csv, line, errors);
    AstraCollectiveRow row;
    row.line = line.line;
    row.system = system_of(cells);
    row.dimensions = dimensions_of(cells);
    row.collective = cells.collective();
    row.bytes = cells.whole("bytes", 0, kMostBytes);
    row.simulated_ns = simulated_ns(cells);
    rows.push_back(std::move(row));
  }
  errors.throw_if_any();
  return rows;
}

std::vector<AstraIterationRow> read_astra_iterations(const spec::Csv& csv) {
  require(csv, {"layers", "hidden", "seq", "batch_per_replica", "heads", "tp", "dp", "peak_TFLOPS",
                "local_mem_GBps", "simulated_ns"});
  ErrorList errors;
  std::vector<AstraIterationRow> rows;
  for (const spec::CsvRow& line : csv.rows) {
    Cells cells(csv, line, errors);
    AstraIterationRow row;
    row.line = line.line;
    row.system = system_of(cells);
    AstraDecoder& decoder = row.decoder;
    decoder.layers = static_cast<int>(cells.whole("layers", 1, 100'000));
    decoder.hidden = cells.whole("hidden", 1, 1'000'000);
    decoder.seq = cells.whole("seq", 1, 10'000'000);
    decoder.batch = cells.whole("batch_per_replica", 1, 100'000);
    decoder.heads = cells.whole("heads", 1, 100'000);
    decoder.tp = static_cast<int>(cells.whole("tp", 1, kMostRanks));
    decoder.dp = static_cast<int>(cells.whole("dp", 1, kMostRanks));
    decoder.peak = cells.number("peak_TFLOPS", 1e-6, 1e9) * 1e12;
    const std::vector<AstraDimension> dimensions = dimensions_of(cells);
    if (dimensions.size() != 2) {
      cells.wrong("topology", fmt::format("an iteration has 2 dimensions (tensor, data), not {}",
                                          dimensions.size()));
    } else {
      row.tensor = dimensions[0];
      row.data = dimensions[1];
      if (row.tensor.num_ranks != decoder.tp || row.data.num_ranks != decoder.dp)
        cells.wrong("npus_per_dim",
                    fmt::format("the dimensions join {} x {} ranks, but tp x dp is {} x {}",
                                row.tensor.num_ranks, row.data.num_ranks, decoder.tp, decoder.dp));
    }
    for (const auto& [name, value] :
         {std::pair{"hidden", decoder.hidden}, {"heads", decoder.heads}})
      if (value % decoder.tp != 0)
        cells.wrong(name,
                    fmt::format("{} = {} does not divide by tp = {}", name, value, decoder.tp));
    row.simulated_ns = simulated_ns(cells);
    rows.push_back(row);
  }
  errors.throw_if_any();
  return rows;
}

}  // namespace nereus::simulate
