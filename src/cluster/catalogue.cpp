#include "cluster/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "cluster/cells.hpp"
#include "cluster/read.hpp"

namespace nereus::cluster {

namespace {

std::string_view text_of(const std::vector<EmbeddedFile>& files, std::string_view path) {
  for (const EmbeddedFile& file : files)
    if (file.path == path) return file.text;
  throw_input_error("cluster.catalogue", fmt::format("the catalogue has no file \"{}\"", path));
}

std::string not_empty_join(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + "; " + b;
}

}  // namespace

void Catalogue::read_devices(std::string_view text) {
  const Cells cells(text, "catalog/devices.csv");
  constexpr std::pair<Precision, const char*> kPeakColumns[] = {
      {Precision::kFp64, "fp64_tflops"},        {Precision::kFp32, "fp32_tflops"},
      {Precision::kTf32, "tf32_tflops"},        {Precision::kFp16, "fp16_tensor_tflops"},
      {Precision::kBf16, "bf16_tensor_tflops"}, {Precision::kFp8, "fp8_tflops"},
      {Precision::kMxfp8, "mxfp8_tflops"},      {Precision::kNvfp4, "nvfp4_tflops"},
      {Precision::kInt8, "int8_tops"}};
  for (const Cells::Row row : cells) {
    Device device;
    device.name = row.text("gpu");
    device.short_name = row.text("short_name");
    device.memory = Bytes{row.number("memory_gb") * kGiB};
    device.usable_memory = Bytes{row.number("usable_gib") * kGiB};
    device.memory_bandwidth = BytesPerSecond{row.number("memory_bw_GBps") * 1e9};
    for (const auto& [precision, column] : kPeakColumns)
      device.peak[static_cast<size_t>(precision)] = FlopsPerSecond{row.number(column) * 1e12};
    device.host_link = BytesPerSecond{row.number("host_link_GBps_one_way") * 1e9};
    device.power = Watts{row.number("tdp_w")};
    device.num_units = row.integer("num_units");
    device.source = not_empty_join(row.text("source"), row.text("added_source"));
    const int index = static_cast<int>(devices_.size());
    device_by_name_.emplace(lower(device.name), index);
    device_by_name_.emplace(lower(device.short_name), index);
    devices_.push_back(std::move(device));
  }
}

void Catalogue::read_device_aliases(std::string_view text) {
  const Cells cells(text, "catalog/gpu_aliases.csv");
  for (const Cells::Row row : cells) {
    const std::string& device = row.text("devices_csv_name");
    if (device.empty()) continue;  // a name that says nothing, kept in the file to be recognised
    const auto found = device_by_name_.find(lower(device));
    if (found == device_by_name_.end()) throw Errors({unknown_device(device, row.where())});
    aliases_.push_back({row.text("name_in_runs"), row.number("memory_gb"), found->second});
  }
}

void Catalogue::read_precisions(std::string_view text) {
  for (int i = 0; i < kNumPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    precisions_.emplace(to_string(precision), precision);
  }
  const Cells cells(text, "catalog/precision_aliases.csv");
  for (const Cells::Row row : cells)
    if (const auto precision = parse_precision(row.text("canonical")))
      precisions_.emplace(lower(row.text("name_in_runs")), *precision);
}

void Catalogue::read_links(std::string_view text) {
  const Cells cells(text, "catalog/links.csv");
  for (const Cells::Row row : cells) {
    const auto kind = parse_link_kind(row.text("kind"));
    if (!kind)
      throw_input_error("cluster.catalogue",
                        fmt::format("\"{}\" is no kind of link", row.text("kind")), row.where());
    latencies_.emplace_back(*kind, Seconds{row.number("latency_us") * 1e-6});
  }
}

void Catalogue::read_nodes(std::string_view text) {
  ErrorList errors;
  const spec::Value file = spec::parse_toml(text, "catalog/nodes.toml");
  spec::Reader table(file, errors);
  for (spec::Reader& entry : table.required_tables("nodes")) {
    Node node = read_node(entry, errors, *this);
    if (!node_by_name_.emplace(lower(node.name), static_cast<int>(nodes_.size())).second)
      entry.fail("name", "cluster.catalogue", fmt::format("two nodes are called {}", node.name));
    nodes_.push_back(std::move(node));
  }
  table.finish();
  errors.throw_if_any();
}

Catalogue Catalogue::load(const std::vector<EmbeddedFile>& files) {
  Catalogue catalogue;
  catalogue.read_devices(text_of(files, "catalog/devices.csv"));
  catalogue.read_device_aliases(text_of(files, "catalog/gpu_aliases.csv"));
  catalogue.read_precisions(text_of(files, "catalog/precision_aliases.csv"));
  catalogue.read_links(text_of(files, "catalog/links.csv"));
  catalogue.read_nodes(text_of(files, "catalog/nodes.toml"));
  catalogue.read_offers(text_of(files, "catalog/offers.csv"));
  return catalogue;
}

const Catalogue& builtin_catalogue() {
  static const Catalogue kCatalogue = Catalogue::load(embedded_files());
  return kCatalogue;
}

const Device* Catalogue::find_device(std::string_view name, double memory_gb) const {
  const std::string wanted = lower(name);
  const auto found = device_by_name_.find(wanted);
  if (found != device_by_name_.end()) return &devices_[found->second];
  const Alias* best = nullptr;  // the size asked for, else the one that stands for any
  for (const Alias& alias : aliases_) {
    if (lower(alias.name) != wanted) continue;
    if (alias.memory_gb == memory_gb) return &devices_[alias.device];
    if (alias.memory_gb == 0) best = &alias;
  }
  return best == nullptr ? nullptr : &devices_[best->device];
}

const Node* Catalogue::find_node(std::string_view name) const {
  const auto found = node_by_name_.find(lower(name));
  if (found == node_by_name_.end()) return nullptr;
  const auto index = static_cast<size_t>(found->second);
  return index < nodes_.size() ? &nodes_[index] : &offers_[index - nodes_.size()].node;
}

const Offer* Catalogue::find_offer(std::string_view name) const {
  const auto found = node_by_name_.find(lower(name));
  if (found == node_by_name_.end()) return nullptr;
  const auto index = static_cast<size_t>(found->second);
  return index < nodes_.size() ? nullptr : &offers_[index - nodes_.size()];
}

std::optional<Precision> Catalogue::find_precision(std::string_view name) const {
  const auto found = precisions_.find(lower(name));
  return found == precisions_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Seconds> Catalogue::usual_latency(LinkKind kind) const {
  for (const auto& [known, latency] : latencies_)
    if (known == kind) return latency;
  return std::nullopt;
}

std::vector<std::string> Catalogue::device_names() const {
  std::vector<std::string> names;
  for (const Device& device : devices_) {
    names.push_back(device.name);
    if (device.short_name != device.name) names.push_back(device.short_name);
  }
  for (const Alias& alias : aliases_) names.push_back(alias.name);
  return names;
}

namespace {

// Distances to a hundred names cost the product of the lengths; no name is that long.
constexpr size_t kLongestName = 80;

Error unknown(const char* code, const char* what, std::string_view name, Where where,
              const std::vector<std::string>& names, const char* listing) {
  const bool too_long = name.size() > kLongestName;
  const auto near = too_long ? std::nullopt : nearest(name, names);
  return {code,
          fmt::format("no {} is called \"{}{}\"", what, name.substr(0, kLongestName),
                      too_long ? "..." : ""),
          std::move(where), near ? fmt::format("did you mean \"{}\"?", *near) : listing,
          ErrorKind::kInput};
}

}  // namespace

Error Catalogue::unknown_device(std::string_view name, Where where) const {
  return unknown("cluster.unknown-device", "device", name, std::move(where), device_names(),
                 "nereus catalog devices lists them");
}

Error Catalogue::unknown_node(std::string_view name, Where where) const {
  std::vector<std::string> names;
  for (const Node& node : nodes_) names.push_back(node.name);
  for (const Offer& offer : offers_) names.push_back(offer.node.name);
  return unknown("cluster.unknown-node", "node", name, std::move(where), names,
                 "nereus catalog nodes and nereus catalog offers list them");
}

}  // namespace nereus::cluster
