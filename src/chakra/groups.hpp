// The process groups of a regular plan, by their purpose.
//
// With S = tp cp dp ranks per stage, i = rank mod S the position in the stage, t = i mod tp and g =
// i / tp (the position among the cp x dp copies of a tensor slice, context fastest;
// plan/stages.hpp):
//   tensor         equal g                          context       equal t and g / cp
//   state          `pieces` neighbors of g, equal t: one sharded copy of dense weights (ZeRO)
//   copies         equal g modulo pieces and equal t: ranks that hold the same piece
//   experts        in each run of ep x expert_tp neighboring ranks: the ep ranks that together hold
//                  the same part of all experts
//   expert parts   the expert_tp ranks that hold parts of the same experts
//   expert state, expert copies                     like state and copies, with runs instead of g
//   tied           the ranks at the same position of two stages that share a weight, if the two
//                  stages are on different pipeline ranks
// DualPipe keeps each stage on pipeline ranks p and pp - 1 - p: the groups of copies span both.
//
// Groups of one rank are left out. The others are numbered from 1, because ASTRA-sim uses 0 for the
// group of all ranks.
//
//   Groups groups(degrees, plan_shape.dense.pieces, plan_shape.experts.pieces, {0, pp - 1});
//   groups.id(GroupKind::kTensor, rank);             // 0 if the rank has no such group
//   groups.json();                                    // {"1": [0, 1], ...}
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "plan/degrees.hpp"

namespace nereus::chakra {

enum class GroupKind {
  kTensor,
  kContext,
  kExperts,
  kExpertParts,
  kState,
  kCopies,
  kExpertState,
  kExpertCopies,
  kTied
};
inline constexpr int kNumGroupKinds = 9;

class Groups {
 public:
  // `tied`: the pipeline ranks that share a weight; two equal ranks if there are none.
  Groups(const plan::Degrees& degrees, int pieces, int expert_pieces, std::pair<int, int> tied);

  std::vector<int> members(GroupKind kind, int rank) const;  // in order, including the rank
  int id(GroupKind kind, int rank) const {
    return ids_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(rank)];
  }
  std::string json() const;

 private:
  plan::Degrees degrees_;
  int pieces_;
  int expert_pieces_;
  std::pair<int, int> tied_;
  std::array<std::vector<int>, kNumGroupKinds> ids_;
};

}  // namespace nereus::chakra
