// Descriptions of machines as tables: cluster files (TOML, YAML, JSON), nodes.toml, and the
// clusters that plan files carry. One schema for all:
//
//   name = "lab"
//   [[groups]]
//   count = 4
//   node = "dgx-a100-80"                       # by its name in the catalogue, or a table:
//   [[groups]]
//   count = 2
//   [groups.node]
//   name = "box"
//   device = { like = "L40S", memory = "44 GiB" }   # a name, a table, or a table over a known one
//   num_devices = 4
//   inside = { kind = "pcie", bandwidth = "28 GB/s" }
//   network = "100 Gbit/s"
//   network_kind = "ethernet"
//   tiers = [{ name = "host", capacity = "1 TiB", bandwidth = "25 GB/s", latency = "2 us" }]
//   price = { on_demand = "$4/h", date = "2026-01-31", source = "invoice" }
//   [[levels]]                                 # left out: one switch at the nodes' own network
//   name = "leaf"
//   kind = "infiniband"
//   topology = "fat-tree"
//   size = 32
//   oversubscription = 2
//
// A quantity is written with its unit, or by programs as a raw SI number under a key that names the
// unit: memory = "80 GiB" or memory_bytes = 85899345920; bandwidth_bytes_per_s, latency_s,
// on_demand_usd_per_hour, power_w, and inside `peak` bf16_flop_per_s. Zero is refused in the first
// form and means "not stated" in the second. A latency left out is the usual one of its kind of
// link. All that is wrong is added to the ErrorList at once.
#pragma once

#include "base/error.hpp"
#include "cluster/catalogue.hpp"
#include "cluster/cluster.hpp"
#include "spec/reader.hpp"
#include "spec/value.hpp"

namespace nereus::cluster {

// Whether the description is complete enough is not asked here: check_cluster
// (cluster/check_cluster.hpp).
Cluster cluster_from_value(const spec::Value& value, ErrorList& errors,
                           const Catalogue& known = builtin_catalogue());

Node read_node(spec::Reader& table, ErrorList& errors, const Catalogue& known);

// The one level of a cluster that names none: a switch over all nodes that limits none of them.
NetworkLevel node_network_level(const Cluster& cluster);

}  // namespace nereus::cluster
