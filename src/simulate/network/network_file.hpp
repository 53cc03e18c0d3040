// Reads a network from a file (TOML, YAML or JSON) with one table per dimension, the first
// dimension first.
//
//   name = "two tiers"                 # optional
//   [[dimensions]]
//   kind = "switch"                    # ring, torus, fully-connected, switch, fat-tree, rails,
//   size = 8                           # dragonfly
//   bandwidth = "450 GB/s"             # per link, one way
//   latency = "500 ns"                 # per link; may be 0
//   [[dimensions]]
//   kind = "rails"
//   size = 64
//   bandwidth = "400 Gbit/s"
//   latency = "1 us"
//   leaf = 32                          # fat-tree, rails, dragonfly: ranks below one switch
//   oversubscription = 2               # fat-tree, rails; default 1
//
// A torus has `sizes = [4, 4, 4]` instead of a size, and becomes as many rings. A dragonfly has
// `leaf`, `group` (routers) and, if they differ from `bandwidth`, `local_bandwidth` and
// `global_bandwidth`. simulate/network/dimension.hpp explains each kind. Quantities need units. All
// errors are reported at once, with their places.
//
//   const Network network = load_network("lab.toml");
#pragma once

#include <string>
#include <string_view>

#include "simulate/network/network.hpp"
#include "spec/value.hpp"

namespace nereus::simulate {

Network load_network(const std::string& path);
Network network_from_value(const spec::Value& value);  // both throw Errors

}  // namespace nereus::simulate
