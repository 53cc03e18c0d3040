// One dimension of a network: how ranks that differ in only one coordinate reach each other.
//
//   ring             a link to each neighbor; the shorter way round, forwards if both are equal
//   fully connected  a link to each other rank
//   switch           a link up and a link down; 2 hops
//   fat tree         switches with `leaf` ranks each, joined by uplinks that their ranks share:
//                    leaf x bandwidth / oversubscription, never blocking above; 2 or 4 hops
//   rails            every rank has a NIC, connected to the switch of its rail: the ranks with the
//                    same slot in every node. Links as in a fat tree (one switch if no leaf is
//                    given), one tree per slot. Traffic to another slot first goes through the
//                    node's inner dimensions, so rails cannot be the first dimension.
//   dragonfly        routers with `leaf` ranks, `group` routers per group with a link between any
//                    two, one (bundled) link between any two groups (Kim, Dally, Scott, Abts 2008).
//                    Of g groups, the link i to j is on router floor(((j - i - 1) mod g) / h)
//                    with h = ceil((g - 1) / group) such links per router. Minimal routes: up,
//                    local to that router, global, local, down; 2 to 5 hops.
// A torus is several rings.
//
//   check(dimension, 0, errors);
//   capacity(dimension, LinkClass::kLeafUp);
#pragma once

#include <optional>
#include <string_view>

#include "base/error.hpp"

namespace nereus::simulate {

enum class DimensionKind { kRing, kFullyConnected, kSwitch, kFatTree, kRails, kDragonfly };
std::string_view to_string(DimensionKind kind);

struct Dimension {
  DimensionKind kind = DimensionKind::kSwitch;
  int size = 1;
  double bandwidth = 0;  // per link, one way, bytes per second
  double latency = 0;    // per link, seconds
  int leaf = 0;          // fat tree, rails, dragonfly: ranks below one switch; rails: 0 = all
  double oversubscription = 1;  // fat tree, rails
  int group = 0;                // dragonfly: routers per group
  double local_bandwidth = 0;   // dragonfly: between two routers; 0 = `bandwidth`
  double global_bandwidth = 0;  // dragonfly: between two groups; 0 = `bandwidth`

  int below_switch() const;  // number of ranks; all of them if there is no second layer
  int num_groups() const;    // dragonfly
  bool operator==(const Dimension&) const = default;
};

// The purposes of a dimension's links. Links of one class have the same capacity.
enum class LinkClass {
  kForward,
  kBackward,
  kDirect,
  kUp,
  kDown,
  kLeafUp,
  kLeafDown,
  kLocal,
  kGlobal
};
std::string_view to_string(LinkClass link);

double capacity(const Dimension& d, LinkClass link);  // bytes per second

// Adds an error for everything impossible: no bandwidth, no ranks, a leaf or group that does not
// divide.
void check(const Dimension& d, std::size_t index, ErrorList& errors);

// The router of group `from` with the link to group `to`.
int gateway(const Dimension& dragonfly, int from, int to);

}  // namespace nereus::simulate
