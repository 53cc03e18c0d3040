#include "app/simulate/astra_dimensions.hpp"

#include <fmt/format.h>

#include "base/units.hpp"

namespace nereus::app {

simulate::AstraDimension astra_dimension(const simulate::Dimension& dimension,
                                         simulate::Algorithm algorithm, ErrorList& errors) {
  simulate::AstraDimension d;
  d.num_ranks = dimension.size;
  d.bandwidth = dimension.bandwidth / kGiB;
  d.latency = dimension.latency * 1e9;
  switch (dimension.kind) {
    case simulate::DimensionKind::kRing:
      d.topology = simulate::AstraTopology::kRing;
      break;
    case simulate::DimensionKind::kFullyConnected:
      d.topology = simulate::AstraTopology::kFullyConnected;
      break;
    default:
      d.topology = simulate::AstraTopology::kSwitch;
      if (dimension.below_switch() != dimension.size ||
          dimension.kind == simulate::DimensionKind::kDragonfly)
        errors.add("astra-sim.network",
                   fmt::format("--compat astra-sim does not support a {} with several switches",
                               to_string(dimension.kind)),
                   {}, "ring, fully-connected or switch");
  }
  switch (algorithm) {
    case simulate::Algorithm::kRing:
      d.algorithm = simulate::AstraAlgorithm::kRing;
      break;
    case simulate::Algorithm::kDirect:
      d.algorithm = simulate::AstraAlgorithm::kDirect;
      break;
    case simulate::Algorithm::kHalvingDoubling:
      d.algorithm = simulate::AstraAlgorithm::kHalvingDoubling;
      break;
    case simulate::Algorithm::kDoubleTree:
      d.algorithm = simulate::AstraAlgorithm::kDoubleBinaryTree;
      break;
    default:
      errors.add("astra-sim.algorithm",
                 fmt::format("--compat astra-sim does not support {}", to_string(algorithm)), {},
                 "ring, direct or halving-doubling");
  }
  return d;
}

}  // namespace nereus::app
