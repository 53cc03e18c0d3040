#include "cluster/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cluster/unit_keys.hpp"

namespace nereus::cluster {

namespace {

using spec::Reader;
using spec::Zero;

// Upper limits: some hundred times what exists, to catch a wrong prefix ("80 TB" instead of "80 GB"
// for a device).
constexpr Bytes kMostDeviceMemory{32 * kTiB};
constexpr Bytes kMostTier{1e18};
constexpr BytesPerSecond kMostBandwidth{1e15};
constexpr FlopsPerSecond kMostPeak{1e18};
constexpr Seconds kMostLatency{10};
constexpr Watts kMostPower{1e5};
constexpr UsdPerHour kMostPrice{1e6};
constexpr double kMostOversubscription = 1e4;
constexpr int kMostNodes = 4'000'000;
constexpr int kMostDevicesOfNode = 4096;
constexpr int kMostDomain = 1'000'000;
constexpr int kMostUnits = 1'000'000;

template <class Q>
Q checked(Reader& table, const std::string& key, Q value, Q most) {
  if (value <= most) return value;
  table.fail(key, "cluster.absurd",
             fmt::format("{} = {} is more than can be meant (at most {})", key,
                         spec::write_quantity(value), spec::write_quantity(most)));
  return most;
}

// `name` with a unit, or `name` + suffix as a raw SI number.
template <class Q>
Q quantity(Reader& table, const std::string& name, Q fallback, Q most, bool required = false,
           Zero zero = Zero::kForbidden) {
  const std::string raw = name + std::string(unit_suffix(Q{}));
  if (table.has(raw)) {
    if (table.has(name))
      table.fail(raw, "cluster.given-twice", fmt::format("both {} and {} are given", name, raw));
    const Q value{table.required_double(raw, 0)};
    if (table.has(name)) table.skip(name);
    return checked(table, raw, value, most);
  }
  if (required) return checked(table, name, table.required<Q>(name, zero), most);
  return table.has(name) ? checked(table, name, table.required<Q>(name, zero), most) : fallback;
}

spec::Choices<LinkKind> link_kinds() {
  spec::Choices<LinkKind> choices;
  for (int i = 0; i <= static_cast<int>(LinkKind::kOther); ++i)
    choices.emplace_back(to_string(static_cast<LinkKind>(i)), static_cast<LinkKind>(i));
  return choices;
}

spec::Choices<TopologyKind> topologies() {
  spec::Choices<TopologyKind> choices;
  for (int i = 0; i <= static_cast<int>(TopologyKind::kDragonfly); ++i)
    choices.emplace_back(to_string(static_cast<TopologyKind>(i)), static_cast<TopologyKind>(i));
  return choices;
}

struct Context {
  ErrorList& errors;
  const Catalogue& known;
};

// The given latency, else the usual one for the kind of link. `before` and `kind_before` are the
// values of the entry that this one is based on ("like"): if the kind changes, so does the latency.
Seconds latency_of(Reader& table, const std::string& key, LinkKind kind, const Context& context,
                   Seconds before, LinkKind kind_before) {
  const Seconds usual = context.known.usual_latency(kind).value_or(Seconds{});
  const bool keep = before.value > 0 && kind == kind_before;
  return quantity(table, key, keep ? before : usual, kMostLatency, false, Zero::kAllowed);
}

void read_peaks(Reader& table, Device& device) {
  Reader peaks = table.optional_table("peak");
  for (int i = 0; i < kNumPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    FlopsPerSecond& peak = device.peak[i];
    peak = quantity(peaks, std::string(to_string(precision)), peak, kMostPeak);
  }
  if (peaks.present()) peaks.finish();
}

// A device of the catalogue that `like` names, or an empty one.
Device device_like(Reader& table, const Context& context) {
  if (!table.has("like")) return {};
  const std::string name = table.required_string("like");
  if (const Device* device = context.known.find_device(name)) return *device;
  context.errors.add(context.known.unknown_device(name, table.where("like")));
  return {};
}

Device read_device_table(Reader& table, const Context& context) {
  const bool whole = !table.has("like");
  Device device = device_like(table, context);
  if (whole || table.has("name")) {
    device.name = table.required_string("name");
    if (whole) device.short_name = device.name;
  }
  device.short_name = table.optional_string("short_name", device.short_name);
  const bool new_memory = table.has("memory") || table.has("memory_bytes");
  device.memory = quantity(table, "memory", device.memory, kMostDeviceMemory, whole);
  if (new_memory) device.usable_memory = Bytes{};
  device.usable_memory = quantity(table, "usable_memory", device.usable_memory, kMostDeviceMemory);
  device.memory_bandwidth =
      quantity(table, "memory_bandwidth", device.memory_bandwidth, kMostBandwidth, whole);
  if (whole && table.raw("peak") == nullptr)
    table.fail("peak", "spec.missing-key", "the device needs its peaks",
               "peak = { bf16 = \"312 TFLOP/s\", fp32 = \"19.5 TFLOP/s\" }");
  read_peaks(table, device);
  device.host_link = quantity(table, "host_link", device.host_link, kMostBandwidth);
  device.power = quantity(table, "power", device.power, kMostPower);
  device.num_units = table.optional_int("num_units", device.num_units, 0, kMostUnits);
  device.source = table.optional_string("source", device.source);
  table.finish();
  return device;
}

bool is_string(const spec::Value* value) {
  return value != nullptr && std::holds_alternative<std::string>(value->data);
}

Device read_device(Reader& node, const Device& before, bool required, const Context& context) {
  const spec::Value* value = node.raw("device");
  if (value == nullptr && !required) return before;
  if (is_string(value)) {
    const std::string name = node.required_string("device");
    if (const Device* device = context.known.find_device(name)) return *device;
    if (!name.empty()) context.errors.add(context.known.unknown_device(name, node.where("device")));
    return {};
  }
  Reader table = node.required_table("device");
  return table.present() ? read_device_table(table, context) : Device{};
}

void read_inside(Reader& node_table, Node& node, const Context& context) {
  Reader table = node_table.optional_table("inside");
  NetworkLevel& inside = node.inside;
  const LinkKind kind_before = inside.kind;
  inside.kind = table.optional_enum("kind", inside.kind, link_kinds());
  if (inside.name.empty() || inside.kind != kind_before)
    inside.name = std::string(to_string(inside.kind));
  inside.name = table.optional_string("name", inside.name);
  inside.topology = table.optional_enum("topology", inside.topology, topologies());
  inside.size =
      table.optional_int("size", node.num_devices > 1 ? node.domain() : 0, 0, kMostDomain);
  inside.bandwidth = quantity(table, "bandwidth", inside.bandwidth, kMostBandwidth);
  inside.latency = latency_of(table, "latency", inside.kind, context, inside.latency, kind_before);
  inside.oversubscription =
      table.optional_double("oversubscription", inside.oversubscription, 1, kMostOversubscription);
  if (table.present()) table.finish();
}

std::vector<MemoryTier> read_tiers(Reader& node, std::vector<MemoryTier> before) {
  if (!node.has("tiers")) return before;
  std::vector<MemoryTier> tiers;
  for (Reader& table : node.optional_tables("tiers")) {
    MemoryTier tier;
    tier.name = table.required_string("name");
    tier.capacity = quantity(table, "capacity", Bytes{}, kMostTier, true);
    tier.bandwidth = quantity(table, "bandwidth", BytesPerSecond{}, kMostBandwidth);
    tier.latency = quantity(table, "latency", Seconds{}, kMostLatency, false, Zero::kAllowed);
    table.finish();
    const auto same = [&](const MemoryTier& other) { return other.name == tier.name; };
    if (std::any_of(tiers.begin(), tiers.end(), same))
      table.fail("name", "cluster.tier-twice", fmt::format("two tiers are called {}", tier.name));
    tiers.push_back(std::move(tier));
  }
  return tiers;
}

bool is_iso_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  return std::count_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) == 8;
}

Price read_price(Reader& node, Price price) {
  Reader table = node.optional_table("price");
  if (!table.present()) return price;
  price.on_demand = quantity(table, "on_demand", price.on_demand, kMostPrice);
  price.spot = quantity(table, "spot", price.spot, kMostPrice);
  price.date = table.optional_string("date", price.date);
  if (!price.date.empty() && !is_iso_date(price.date))
    table.fail("date", "cluster.date", fmt::format("\"{}\" is no date", price.date),
               "write it as 2026-01-31");
  price.source = table.optional_string("source", price.source);
  price.region = table.optional_string("region", price.region);
  table.finish();
  return price;
}

NetworkLevel read_level(Reader& table, const Context& context) {
  NetworkLevel level;
  level.kind = table.required_enum("kind", link_kinds());
  level.name = table.optional_string("name", std::string(to_string(level.kind)));
  level.topology = table.optional_enum("topology", TopologyKind::kSwitch, topologies());
  level.size = table.optional_int("size", 0, 0, kMostNodes);
  level.bandwidth = quantity(table, "bandwidth", BytesPerSecond{}, kMostBandwidth);
  level.latency = latency_of(table, "latency", level.kind, context, Seconds{}, LinkKind::kOther);
  level.oversubscription = table.optional_double("oversubscription", 1, 1, kMostOversubscription);
  table.finish();
  return level;
}

Node read_group_node(Reader& group, const Context& context) {
  if (is_string(group.raw("node"))) {
    const std::string name = group.required_string("node");
    if (const Node* node = context.known.find_node(name)) return *node;
    if (!name.empty()) context.errors.add(context.known.unknown_node(name, group.where("node")));
    return {};
  }
  Reader table = group.required_table("node");
  return table.present() ? read_node(table, context.errors, context.known) : Node{};
}

}  // namespace

Node read_node(Reader& table, ErrorList& errors, const Catalogue& known) {
  const Context context{errors, known};
  Node node;
  const bool whole = !table.has("like");
  if (!whole) {
    const std::string name = table.required_string("like");
    if (const Node* like = known.find_node(name))
      node = *like;
    else if (!name.empty())
      errors.add(known.unknown_node(name, table.where("like")));
  }
  node.name = whole ? table.required_string("name") : table.optional_string("name", node.name);
  node.provider = table.optional_string("provider", node.provider);
  node.device = read_device(table, node.device, whole, context);
  const int num_before = node.num_devices;
  node.num_devices = whole ? table.required_int("num_devices", 1, kMostDevicesOfNode)
                           : table.optional_int("num_devices", num_before, 1, kMostDevicesOfNode);
  if (whole || node.num_devices != num_before) node.nvlink_domain = node.num_devices;
  node.nvlink_domain = table.optional_int("nvlink_domain", node.nvlink_domain, 1, kMostDomain);
  read_inside(table, node, context);
  const LinkKind kind_before = node.network_kind;
  node.network_kind = table.optional_enum("network_kind", node.network_kind, link_kinds());
  node.network = quantity(table, "network", node.network, kMostBandwidth);
  node.network_latency = latency_of(table, "network_latency", node.network_kind, context,
                                    node.network_latency, kind_before);
  node.tiers = read_tiers(table, node.tiers);
  node.vcpus = table.optional_int("vcpus", node.vcpus, 0, kMostUnits);
  node.price = read_price(table, node.price);
  node.source = table.optional_string("source", node.source);
  table.finish();
  return node;
}

NetworkLevel node_network_level(const Cluster& cluster) {
  NetworkLevel level;
  level.oversubscription = 1;
  for (const NodeGroup& group : cluster.groups) {
    if (group.node.network > level.bandwidth || level.name.empty()) {
      level.kind = group.node.network_kind;
      level.name = std::string(to_string(level.kind));
    }
    level.bandwidth = std::max(level.bandwidth, group.node.network);
    level.latency = std::max(level.latency, group.node.network_latency);
  }
  return level;
}

Cluster cluster_from_value(const spec::Value& value, ErrorList& errors, const Catalogue& known) {
  const Context context{errors, known};
  Cluster cluster;
  Reader table(value, errors);
  cluster.name = table.optional_string("name", "cluster");
  for (Reader& group_table : table.required_tables("groups")) {
    NodeGroup group;
    group.count = group_table.required_int("count", 1, kMostNodes);
    group.node = read_group_node(group_table, context);
    group_table.finish();
    cluster.groups.push_back(std::move(group));
  }
  const bool has_levels = table.has("levels");
  for (Reader& level : table.optional_tables("levels"))
    cluster.levels.push_back(read_level(level, context));
  if (!has_levels) cluster.levels.push_back(node_network_level(cluster));
  table.finish();
  return cluster;
}

}  // namespace nereus::cluster
