#include "cluster/write_cluster.hpp"

#include <string_view>
#include <utility>

#include "cluster/unit_keys.hpp"
#include "spec/quantity.hpp"

namespace nereus::cluster {

namespace {

enum class IfZero { kLeaveOut, kWrite };

class TableWriter {
 public:
  explicit TableWriter(Form form) : form_(form) {}

  void add(std::string_view key, spec::Value value) {
    table_.emplace_back(std::string(key), std::move(value));
  }
  void add(std::string_view key, std::string_view text) {
    if (!text.empty() || form_ == Form::kRaw) add(key, spec::Value{std::string(text), 0, 0, {}});
  }
  void add(std::string_view key, int number) {
    add(key, spec::Value{std::int64_t{number}, 0, 0, {}});
  }
  void add(std::string_view key, double number) { add(key, spec::Value{number, 0, 0, {}}); }
  void add(std::string_view key, spec::Array array) {
    add(key, spec::Value{std::move(array), 0, 0, {}});
  }

  template <class Tag>
  void add(std::string_view key, Quantity<Tag> quantity, IfZero if_zero = IfZero::kLeaveOut) {
    if (form_ == Form::kRaw)
      add(std::string(key) + std::string(unit_suffix(quantity)), quantity.value);
    else if (quantity.value != 0 || if_zero == IfZero::kWrite)
      add(key, spec::Value{spec::write_quantity(quantity), 0, 0, {}});
  }

  bool empty() const { return table_.empty(); }
  spec::Value finish() { return {std::move(table_), 0, 0, {}}; }

 private:
  Form form_;
  spec::Table table_;
};

spec::Value level_to_value(const NetworkLevel& level, Form form) {
  TableWriter table(form);
  table.add("name", std::string_view(level.name));
  table.add("kind", to_string(level.kind));
  table.add("topology", to_string(level.topology));
  table.add("size", level.size);
  table.add("bandwidth", level.bandwidth);
  table.add("latency", level.latency, IfZero::kWrite);
  table.add("oversubscription", level.oversubscription);
  return table.finish();
}

spec::Value tier_to_value(const MemoryTier& tier, Form form) {
  TableWriter table(form);
  table.add("name", std::string_view(tier.name));
  table.add("capacity", tier.capacity);
  table.add("bandwidth", tier.bandwidth);
  table.add("latency", tier.latency, IfZero::kWrite);
  return table.finish();
}

spec::Value price_to_value(const Price& price, Form form) {
  TableWriter table(form);
  table.add("on_demand", price.on_demand);
  table.add("spot", price.spot);
  table.add("date", std::string_view(price.date));
  table.add("source", std::string_view(price.source));
  table.add("region", std::string_view(price.region));
  return table.finish();
}

}  // namespace

spec::Value device_to_value(const Device& device, Form form) {
  TableWriter table(form);
  table.add("name", std::string_view(device.name));
  table.add("short_name", std::string_view(device.short_name));
  table.add("memory", device.memory);
  table.add("usable_memory", device.usable_memory);
  table.add("memory_bandwidth", device.memory_bandwidth);
  TableWriter peaks(form);
  for (int i = 0; i < kNumPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    if (device.has(precision)) peaks.add(to_string(precision), device.peak_of(precision));
  }
  table.add("peak", peaks.finish());
  table.add("host_link", device.host_link);
  table.add("power", device.power);
  table.add("num_units", device.num_units);
  table.add("source", std::string_view(device.source));
  return table.finish();
}

spec::Value node_to_value(const Node& node, Form form) {
  TableWriter table(form);
  table.add("name", std::string_view(node.name));
  table.add("provider", std::string_view(node.provider));
  table.add("device", device_to_value(node.device, form));
  table.add("num_devices", node.num_devices);
  table.add("nvlink_domain", node.domain());
  table.add("inside", level_to_value(node.inside, form));
  table.add("network", node.network);
  table.add("network_latency", node.network_latency, IfZero::kWrite);
  table.add("network_kind", to_string(node.network_kind));
  spec::Array tiers;
  for (const MemoryTier& tier : node.tiers) tiers.push_back(tier_to_value(tier, form));
  table.add("tiers", std::move(tiers));
  table.add("vcpus", node.vcpus);
  table.add("price", price_to_value(node.price, form));
  table.add("source", std::string_view(node.source));
  return table.finish();
}

spec::Value cluster_to_value(const Cluster& cluster, Form form) {
  TableWriter table(form);
  table.add("name", std::string_view(cluster.name));
  spec::Array groups;
  for (const NodeGroup& group : cluster.groups) {
    TableWriter entry(form);
    entry.add("count", group.count);
    entry.add("node", node_to_value(group.node, form));
    groups.push_back(entry.finish());
  }
  table.add("groups", std::move(groups));
  spec::Array levels;
  for (const NetworkLevel& level : cluster.levels) levels.push_back(level_to_value(level, form));
  table.add("levels", std::move(levels));
  return table.finish();
}

std::string cluster_to_json(const Cluster& cluster) {
  return spec::to_json(cluster_to_value(cluster, Form::kRaw));
}

}  // namespace nereus::cluster
