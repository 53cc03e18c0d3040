// A step of a regular plan as Chakra execution traces, one file per rank.
//
//   ChakraStep step = make_step(model, cluster, basis, degrees);
//   step.num_bytes(ranks);                     // before anything is written
//   std::string bytes = step.trace(3);         // of rank 3
//   step.groups.json();                        // communicator groups, in ASTRA-sim's format
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/rank_graph.hpp"

namespace nereus::chakra {

struct ChakraStep {
  std::string model_name;
  StepWork work;
  Groups groups;
  std::vector<RankGraph> graphs;  // by pipeline rank

  int num_ranks() const { return work.degrees.num_ranks(); }
  const RankGraph& graph_of(int rank) const;
  std::string trace(int rank) const;
  // Total size of these ranks' files; exact except for the few bytes of a rank's number.
  std::int64_t num_bytes(const std::vector<int>& ranks) const;
  std::int64_t num_nodes(const std::vector<int>& ranks) const;
};

ChakraStep make_step(const model::Model& model, const cluster::Cluster& cluster,
                     const cost::Basis& basis, const plan::Degrees& degrees);

}  // namespace nereus::chakra
