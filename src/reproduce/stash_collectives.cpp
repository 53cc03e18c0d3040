#include "reproduce/stash_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/median.hpp"
#include "base/units.hpp"
#include "cluster/catalogue.hpp"
#include "reproduce/stash_files.hpp"

namespace nereus::app {

namespace {

using simulate::NcclAlgorithm;
using simulate::NcclSite;

// Everything of a site but its ranks.
std::optional<NcclSite> find_site(const std::string& system) {
  const StashTable table("sites.csv");
  for (const spec::CsvRow& row : table.rows()) {
    if (table.text(row, "system") != system) continue;
    NcclSite site;
    const cluster::Catalogue& known = cluster::builtin_catalogue();
    if (const std::string& name = table.text(row, "node"); !name.empty()) {
      const cluster::Node* node = known.find_node(name);
      NEREUS_CHECK(node != nullptr, "nodes of data/stash/sites.csv are in the catalogue");
      site.link = node->inside.bandwidth.value;
      site.network = node->network.value;
      site.network_step = node->network_latency.value;
      return site;
    }
    site.link = table.number(row, "link_GBps").value_or(0) * 1e9;
    site.network = table.number(row, "network_Gbps").value_or(0) * 1e9 / 8;
    if (const auto kind = cluster::parse_link_kind(table.text(row, "network_kind")))
      site.network_step = known.usual_latency(*kind).value_or(Seconds{}).value;
    return site;
  }
  return std::nullopt;
}

// Seconds of a bus bandwidth (nccl-tests: bytes that cross each link, per second).
double seconds_of_bus(const std::string& operation, double bytes, int ranks, double rate) {
  const double passes = operation == "all-reduce" ? 2 : 1;
  return passes * (ranks - 1) / ranks * bytes / rate;
}

NcclAlgorithm algorithm_of(const std::string& notes) {
  if (notes.starts_with("NVLS")) return NcclAlgorithm::kSwitch;
  if (notes.starts_with("ring")) return NcclAlgorithm::kRing;
  return NcclAlgorithm::kAny;
}

// "NVLS; 365.6 with NVLS off": the second figure.
std::optional<double> without_switch(const std::string& notes) {
  const std::size_t end = notes.find(" with NVLS off");
  const std::size_t begin = notes.find("; ");
  if (end == std::string::npos || begin == std::string::npos || begin > end) return std::nullopt;
  return std::stod(notes.substr(begin + 2, end - begin - 2));
}

double predict(const simulate::NcclNodeNumbers& numbers, const PublishedCollective& own) {
  return own.operation == "all-reduce"
             ? all_reduce_seconds(numbers, own.site, own.bytes, own.algorithm)
             : all_gather_seconds(numbers, own.site, own.bytes);
}

// Why a row cannot be predicted, or nothing.
std::string why_not(const StashTable& table, const spec::CsvRow& row) {
  const std::string& operation = table.text(row, "operation");
  if (operation != "all-reduce" && operation != "all-gather") return "no collective";
  if (!table.number(row, "bytes")) return "no number of bytes";
  if (!table.number(row, "ranks")) return "no number of ranks";
  if (!table.number(row, "time_us") && !table.number(row, "busbw_GBps"))
    return "no time or bandwidth as one number";
  if (!find_site(table.text(row, "system"))) return "links not known";
  return {};
}

void read_row(const StashTable& table, const spec::CsvRow& row, PublishedCollectives& out) {
  const std::string& system = table.text(row, "system");
  const std::string& notes = table.text(row, "notes");
  if (const std::string why = why_not(table, row); !why.empty()) {
    const std::string& bytes = table.text(row, "bytes");
    const std::string& ranks = table.text(row, "ranks");
    out.others.push_back({fmt::format("{}, {}{}{}", system, table.text(row, "operation"),
                                      bytes.empty() ? "" : " of '" + bytes + "' bytes",
                                      ranks.empty() ? "" : " on " + counted(ranks, "rank")),
                          why});
    return;
  }
  PublishedCollective own;
  own.system = system;
  own.operation = table.text(row, "operation");
  own.site = *find_site(system);
  own.site.num_ranks = static_cast<int>(*table.number(row, "ranks"));
  own.site.per_node = own.site.num_ranks / static_cast<int>(table.number(row, "nodes").value_or(1));
  own.bytes = *table.number(row, "bytes");
  own.algorithm = algorithm_of(notes);
  own.site.adds = own.algorithm == NcclAlgorithm::kSwitch;
  own.source = table.text(row, "source");
  const auto bus = [&](double rate) {
    return seconds_of_bus(own.operation, own.bytes, own.site.num_ranks, rate * 1e9);
  };
  const std::optional<double> time = table.number(row, "time_us");
  own.measured = time ? *time * 1e-6 : bus(*table.number(row, "busbw_GBps"));
  out.rows.push_back(own);
  if (const std::optional<double> rate = without_switch(notes)) {
    own.algorithm = NcclAlgorithm::kRing;
    own.counts = false;
    own.measured = bus(*rate);
    out.rows.push_back(own);
  }
}

}  // namespace

double PublishedCollective::error() const { return std::abs(predicted / measured - 1); }

PublishedCollectives published_collectives(const simulate::NcclNodeNumbers& numbers) {
  PublishedCollectives out;
  const StashTable table("measured_comm.csv");
  for (const spec::CsvRow& row : table.rows()) read_row(table, row, out);
  std::vector<double> errors;
  for (PublishedCollective& own : out.rows) {
    own.predicted = predict(numbers, own);
    if (own.counts) errors.push_back(own.error());
  }
  out.counted = static_cast<int>(errors.size());
  out.median_error = median(errors);
  return out;
}

}  // namespace nereus::app
