// Networks of one or several dimensions, each with links of its own bandwidth and latency.
//
// Ranks are numbered with the first dimension fastest. Along a dimension each rank reaches those
// that differ from it in that coordinate alone:
//   ring             a link to either neighbour; the shorter way round, forwards where equal
//   fully connected  a link to each
//   switch           a link up and a link down; two latencies
//   fat tree         switches of `leaf` ranks each, joined by uplinks that their ranks share:
//                    leaf x bandwidth / oversubscription, never blocking above; four latencies
// A torus is several rings. Between ranks that differ in several coordinates a route turns
// dimension by dimension, first to last. A link that a route would cross twice counts twice.
//
//   const Network network({{.kind = DimensionKind::kRing, .size = 8, .bandwidth = 50e9,
//                           .latency = 500e-9}});
//   network.route(0, 3);
#pragma once

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "simulate/network/play.hpp"

namespace nereus::simulate {

enum class DimensionKind { kRing, kFullyConnected, kSwitch, kFatTree };
std::string_view to_string(DimensionKind kind);

struct Dimension {
  DimensionKind kind = DimensionKind::kSwitch;
  int size = 1;
  double bandwidth = 0;         // of a link, one way, bytes per second
  double latency = 0;           // of a link, seconds
  int leaf = 0;                 // fat tree: ranks below one switch
  double oversubscription = 1;  // fat tree
};

class Network {
 public:
  // Throws Errors that name all that is impossible: no bandwidth, no ranks, a leaf that does not
  // divide.
  explicit Network(std::vector<Dimension> dimensions);

  int num_ranks() const { return num_ranks_; }
  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  std::vector<double> capacities() const;  // of every link, made anew

  int coordinate(int rank, int dimension) const;
  int moved(int rank, int dimension, int coordinate) const;  // the same rank elsewhere

  struct Path {
    Route links;
    Picoseconds latency = 0;
  };
  Path route(int from, int to) const;

 private:
  void step_along(std::size_t d, int from, int to, Path& path) const;
  int link(std::size_t d, int index) const { return first_link_[d] + index; }

  std::vector<Dimension> dimensions_;
  std::vector<int> stride_;
  std::vector<int> first_link_;
  int num_ranks_ = 1;
};

}  // namespace nereus::simulate
