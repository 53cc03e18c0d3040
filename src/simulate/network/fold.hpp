// Converts programs to transfers: those of every rank, or of a few ranks that represent all.
//
// A dimension can be rotated onto itself by its period p: moving every coordinate c to c + p (or
// flipping bits of c from p on) maps its links to links of the same capacity. If all exchanges
// along it do the same at every coordinate (all are shifts, or all are exchanges of bits), the
// rotation leaves the whole collective unchanged. So ranks that are a multiple of p apart do the
// same at the same time. Only coordinates 0 ... p-1 are simulated; a link of another rank is
// replaced by the same link of the rank that represents it. No rotation keeps a rank, a switch or a
// group in place. So as many flows of a class (flows that rotations map to each other) cross each
// link of a class as one flow crosses links of that class.
//
//   p                shifts                                bits
//   ring             1                                     size (1 if that is 2)
//   full, switch     1                                     1
//   fat tree, rails  leaf (1 if there is one leaf)         the same, leaf a power of two
//   dragonfly        leaf x group (1: one router;          size (1: one router)
//                    size: one group of several)
// Exchanges between listed pairs (trees, ranks beyond a power of two) leave their dimension
// unfolded; the other dimensions are folded nevertheless.
//
//   const Fold fold = Fold::of(network, program);
//   const Playable playable = make_playable(network, program, fold);
#pragma once

#include <vector>

#include "simulate/network/exchange_program.hpp"
#include "simulate/network/network.hpp"

namespace nereus::simulate {

class Fold {
 public:
  static Fold none(const Network& network);
  static Fold of(const Network& network, const Program& program);  // folds as far as is provable

  int num_played() const { return num_played_; }
  bool folds() const { return num_played_ < network_->num_ranks(); }
  // Simulated ranks are renumbered 0 ... num_played - 1.
  int number_of(int rank) const;  // number of the rank that represents `rank`
  int rank_of(int number) const;
  int link_of(int link) const;  // the link that represents `link`

 private:
  explicit Fold(const Network& network);

  const Network* network_;
  std::vector<int> period_;  // per dimension
  std::vector<bool> bits_;   // per dimension: folded by bits instead of shifts
  int num_played_ = 1;
};

struct Playable {
  Transfers transfers;
  std::vector<double> capacities;  // of the links that are used
  std::vector<int> links;          // their numbers in the network
};

Playable make_playable(const Network& network, const Program& program, const Fold& fold);

}  // namespace nereus::simulate
