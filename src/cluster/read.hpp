// Descriptions of machines as tables, with one schema for cluster files (TOML, YAML, JSON),
// nodes.toml, and the clusters in plan files:
//
//   name = "lab"
//   [[groups]]
//   count = 4
//   node = "dgx-a100-80"                       # a name in the catalog, or a table:
//   [[groups]]
//   count = 2
//   [groups.node]
//   name = "box"
//   device = { like = "L40S", memory = "44 GiB" }   # a name, a table, or changes to a known one
//   num_devices = 4
//   inside = { kind = "pcie", bandwidth = "28 GB/s" }
//   network = "100 Gbit/s"
//   network_kind = "ethernet"
//   tiers = [{ name = "host", capacity = "1 TiB", bandwidth = "25 GB/s", latency = "2 us" }]
//   price = { on_demand = "$4/h", date = "2026-01-31", source = "invoice" }
//   [[levels]]                                 # default: one switch at the nodes' network rate
//   name = "leaf"
//   kind = "infiniband"
//   topology = "fat-tree"
//   size = 32
//   oversubscription = 2
//
// A quantity is written with its unit, or by programs as a raw SI number under a key with the unit:
// memory = "80 GiB" or memory_bytes = 85899345920; bandwidth_bytes_per_s, latency_s,
// on_demand_usd_per_hour, power_w, and inside `peak` bf16_flop_per_s. Zero is rejected in the first
// form, and means "not stated" in the second. The default latency is the usual one for the kind of
// link. All errors are added to the ErrorList at once.
#pragma once

#include "base/error.hpp"
#include "cluster/catalogue.hpp"
#include "cluster/cluster.hpp"
#include "spec/reader.hpp"
#include "spec/value.hpp"

namespace nereus::cluster {

// Does not check that the description is complete: check_cluster does (cluster/check_cluster.hpp).
Cluster cluster_from_value(const spec::Value& value, ErrorList& errors,
                           const Catalogue& known = builtin_catalogue());

Node read_node(spec::Reader& table, ErrorList& errors, const Catalogue& known);

// The single level of a cluster without levels: a switch over all nodes that limits none of them.
NetworkLevel node_network_level(const Cluster& cluster);

}  // namespace nereus::cluster
