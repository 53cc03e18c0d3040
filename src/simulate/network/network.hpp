// Networks with one or several dimensions (simulate/network/dimension.hpp), each with links of a
// certain bandwidth and latency.
//
// Ranks are numbered with the first dimension fastest. A route between ranks that differ in several
// coordinates goes dimension by dimension, first to last. A link that a route crosses twice counts
// twice. A link is identified by its dimension, the rank that owns it (for a switch or a group: its
// first rank), and its index among that rank's links.
//
//   const Network network({{.kind = DimensionKind::kRing, .size = 8, .bandwidth = 50e9,
//                           .latency = 500e-9}});
//   network.route(0, 3);
#pragma once

#include <vector>

#include "base/error.hpp"
#include "simulate/network/dimension.hpp"
#include "simulate/network/network_play.hpp"

namespace nereus::simulate {

class Network {
 public:
  // Throws Errors that list everything impossible.
  explicit Network(std::vector<Dimension> dimensions);

  int num_ranks() const { return num_ranks_; }
  const std::vector<Dimension>& dimensions() const { return dimensions_; }

  int coordinate(int rank, int dimension) const;
  // The rank with this coordinate changed.
  int moved(int rank, int dimension, int coordinate) const;

  struct Path {
    Route links;
    Picoseconds latency = 0;
  };
  Path route(int from, int to) const;

  struct LinkPlace {
    int dimension = 0;
    int owner = 0;  // rank
    int index = 0;  // among the owner's links in this dimension
  };
  LinkPlace place_of(int link) const;
  int link_at(const LinkPlace& place) const;
  LinkClass class_of(const LinkPlace& place) const;
  static int first_global(const Dimension& dragonfly);  // index of the link to group 0
  double capacity_of(int link) const;                   // bytes per second

 private:
  void step_along(std::size_t d, int from, int to, Path& path) const;

  std::vector<Dimension> dimensions_;
  std::vector<int> stride_;
  std::vector<int> first_link_;
  int num_ranks_ = 1;
};

}  // namespace nereus::simulate
