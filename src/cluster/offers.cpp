// Cloud offers: each row of offers.csv becomes a Node with the provider's instance name. gpu_model
// and gpu_mem_gb_each name the device unless the column `device` is set. The column rdma_gbps is
// the network for training; if it is empty, network_gbps is.
#include <fmt/format.h>

#include "cluster/catalogue.hpp"
#include "cluster/cells.hpp"
#include "cluster/check_cluster.hpp"

namespace nereus::cluster {

namespace {

constexpr double kBytesPerSecondOfGbps = 1e9 / 8;

struct InsideKind {
  LinkKind kind;
  TopologyKind topology;
};

InsideKind inside_kind(const std::string& text) {
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (has("hybrid cube mesh")) return {LinkKind::kNvlink, TopologyKind::kRing};
  if (has("NVSwitch")) return {LinkKind::kNvswitch, TopologyKind::kSwitch};
  // Before "NVLink": "PCIe 4 (no NVLink)", "PCIe 4 (NVLink bridge not confirmed)".
  if (text.starts_with("PCIe")) return {LinkKind::kPcie, TopologyKind::kSwitch};
  if (has("NVLink")) return {LinkKind::kNvlink, TopologyKind::kSwitch};
  if (has("Infinity Fabric")) return {LinkKind::kXgmi, TopologyKind::kFullyConnected};
  return {LinkKind::kOther, TopologyKind::kSwitch};
}

void set_device(const Cells::Row& row, const Catalogue& known, Offer& offer) {
  offer.gpu_model = row.text("gpu_model");
  const double memory_gb = row.number("gpu_mem_gb_each");
  const std::string& settled = row.text("device");
  const Device* device =
      settled.empty() ? known.find_device(offer.gpu_model, memory_gb) : known.find_device(settled);
  if (device == nullptr) {
    offer.node.device.name = offer.gpu_model;
    offer.node.device.memory = Bytes{memory_gb * kGiB};
    offer.why_not =
        fmt::format("cannot be predicted: no device is known as \"{}\"", offer.gpu_model);
    return;
  }
  offer.node.device = *device;
  if (!settled.empty())
    offer.assumptions.push_back(
        fmt::format("device {}: {}", device->name, row.text("device_source")));
  else if (memory_gb == 0)
    offer.assumptions.push_back(
        fmt::format("the memory of the device is not stated: {} taken", device->name));
  else if (Bytes{memory_gb * kGiB} != device->memory)
    offer.why_not = fmt::format("cannot be predicted: it states {} GB per device, but {} has {}",
                                memory_gb, device->name, device->memory.value / kGiB);
}

void set_inside(const Cells::Row& row, const Catalogue& known, Offer& offer) {
  Node& node = offer.node;
  const std::string& stated = row.text("intra_node_interconnect");
  const auto [kind, topology] = inside_kind(stated);
  node.inside.name = std::string(to_string(kind));
  if (node.num_devices <= 1) return;
  node.inside.kind = kind;
  node.inside.topology = topology;
  node.inside.size = node.num_devices;
  node.inside.bandwidth = BytesPerSecond{row.number("interconnect_GBps_per_gpu_one_way") * 1e9};
  node.inside.latency = known.usual_latency(kind).value_or(Seconds{});
  if (node.inside.bandwidth.value > 0 && stated.find("not confirmed") != std::string::npos)
    offer.assumptions.push_back("link between its devices: " + stated);
}

void set_network(const Cells::Row& row, const Catalogue& known, Offer& offer) {
  Node& node = offer.node;
  const double rdma = row.number("rdma_gbps");
  const double gbps = rdma > 0 ? rdma : row.number("network_gbps");
  if (gbps <= 0) return;
  node.network = BytesPerSecond{gbps * kBytesPerSecondOfGbps};
  node.network_kind = rdma > 0 ? parse_link_kind(row.text("rdma_kind")).value_or(LinkKind::kOther)
                               : LinkKind::kEthernet;
  node.network_latency = known.usual_latency(node.network_kind).value_or(Seconds{});
  offer.assumptions.push_back(fmt::format("network latency: {:g} us, the usual one of {}",
                                          node.network_latency.value * 1e6,
                                          to_string(node.network_kind)));
}

void set_price(const Cells::Row& row, Offer& offer) {
  offer.node.price = {UsdPerHour{row.number("ondemand_usd_h")},
                      UsdPerHour{row.number("spot_usd_h_median")}, row.text("price_date"),
                      row.text("price_source"), row.text("region")};
  offer.spot_min = UsdPerHour{row.number("spot_usd_h_min")};
  offer.spot_max = UsdPerHour{row.number("spot_usd_h_max")};
}

}  // namespace

void Catalogue::read_offers(std::string_view text) {
  const Cells cells(text, "catalog/offers.csv");
  for (const Cells::Row row : cells) {
    Offer offer;
    Node& node = offer.node;
    node.name = row.text("instance");
    node.provider = row.text("provider");
    node.num_devices = row.integer("gpu_count");
    node.nvlink_domain = node.num_devices;
    node.vcpus = row.integer("vcpus");
    node.source = row.text("price_source");
    set_device(row, *this, offer);
    set_inside(row, *this, offer);
    set_network(row, *this, offer);
    set_price(row, offer);
    if (const double gib = row.number("ram_gib"); gib > 0)
      node.tiers.push_back({"host", Bytes{gib * kGiB}, node.device.host_link, Seconds{2e-6}});
    offer.network_source = row.text("network_source");
    offer.notes = row.text("notes");
    if (node.source.empty()) node.source = offer.network_source;
    if (offer.why_not.empty()) offer.why_not = cluster::why_not(node);
    if (offer.why_not.empty()) offer.why_not_many = cluster::why_not_many(node);
    const int index = static_cast<int>(nodes_.size() + offers_.size());
    if (!node_by_name_.emplace(lower(node.name), index).second)
      throw_input_error("cluster.catalogue", fmt::format("two nodes are called {}", node.name),
                        row.where("instance"));
    offers_.push_back(std::move(offer));
  }
}

}  // namespace nereus::cluster
