// Programs as transfers: of every rank, or of few that stand for all.
//
// A dimension turns onto itself in steps of its period p: moving every coordinate c to c + p (or
// flipping bits of c from p on) maps its links onto links of the same capacity. Where all exchanges
// along it do the same at every coordinate (shifts; or exchanges of bits, not both), the whole
// collective looks the same after the turn, so ranks that are multiples of p apart do the same at
// the same time. Only coordinates 0 ... p-1 are played; a link of another rank is the link of the
// rank that stands for it. No turn keeps a rank, a switch or a group in place, so as many flows
// cross each link of a class as one flow crosses links of that class.
//
//   p                shifts                                bits
//   ring             1                                     size (1 where that is 2)
//   full, switch     1                                     1
//   fat tree, rails  leaf (1 where there is one leaf)      the same, leaf a power of two
//   dragonfly        leaf x group (1: one router;          size (1: one router)
//                    size: one group of several)
// Exchanges between named pairs (trees, ranks beyond a power of two) keep their dimension unfolded;
// the other dimensions fold all the same.
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
  static Fold of(const Network& network, const Program& program);  // as far as is provable

  int num_played() const { return num_played_; }
  bool folds() const { return num_played_ < network_->num_ranks(); }
  // Ranks that are played are numbered anew, 0 ... num_played - 1.
  int number_of(int rank) const;  // of the one that stands for it
  int rank_of(int number) const;
  int link_of(int link) const;  // that stands for it

 private:
  explicit Fold(const Network& network);

  const Network* network_;
  std::vector<int> period_;  // of each dimension
  std::vector<bool> bits_;   // it is folded by bits instead of shifts
  int num_played_ = 1;
};

struct Playable {
  Transfers transfers;
  std::vector<double> capacities;  // of the links that are used
  std::vector<int> links;          // the network's number of each
};

Playable make_playable(const Network& network, const Program& program, const Fold& fold);

}  // namespace nereus::simulate
