#include "simulate/network/algorithms.hpp"

#include "base/error.hpp"

namespace nereus::simulate {

std::string_view to_string(Algorithm algorithm) {
  constexpr std::string_view kNames[] = {"ring", "direct",      "halving-doubling",
                                         "tree", "double-tree", "two-way-ring"};
  return kNames[static_cast<int>(algorithm)];
}

std::optional<Algorithm> parse_algorithm(std::string_view text) {
  for (const Algorithm algorithm : kAlgorithms)
    if (text == to_string(algorithm)) return algorithm;
  return std::nullopt;
}

bool offers(Algorithm algorithm, Collective collective) {
  const bool tree = algorithm == Algorithm::kTree || algorithm == Algorithm::kDoubleTree;
  return !tree || collective == Collective::kAllReduce;
}

std::vector<int> add_phase(Program& program, const Phase& phase, Collective collective,
                           double bytes, const std::vector<int>& after) {
  NEREUS_CHECK(offers(phase.algorithm, collective), "trees offer all-reduce only");
  if (phase.size == 1) return after;
  if (phase.algorithm == Algorithm::kTree || phase.algorithm == Algorithm::kDoubleTree)
    return add_tree(program, phase, bytes, after);
  const auto add = phase.algorithm == Algorithm::kRing         ? add_ring
                   : phase.algorithm == Algorithm::kTwoWayRing ? add_two_way_ring
                   : phase.algorithm == Algorithm::kDirect     ? add_direct
                                                               : add_halving_doubling;
  return add(program, phase, collective, bytes, after);
}

}  // namespace nereus::simulate
