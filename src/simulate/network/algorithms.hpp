// The algorithms of collectives, one source file each, as phases along one dimension with n ranks.
//
//   ring               reduce-scatter, all-gather: n-1 steps that send B/n to the next rank;
//                      all-to-all: step k sends to the k-th next rank (routed)
//   two-way ring       half of the bytes in each direction; all-to-all: steps +k and -k at the same
//                      time
//   direct             the ring's n-1 sends as one step, to all other ranks at the same time
//   halving-doubling   log2 n steps with halves, quarters, ... (Thakur, Rabenseifner, Gropp 2005);
//                      see below for other n. All-to-all: Bruck's, ceil(log2 n) steps with half
//                      the bytes, any n (Bruck et al. 1997)
//   tree               all-reduce: up a binary tree and down again
//   double tree        two trees, each with half of the bytes; leaves of one are inner nodes of the
//                      other (Sanders, Speck, Träff 2009)
// If n is not a power of two, halving-doubling works as follows: the n - p ranks above p =
// 2^floor(log2 n) first give their data to a partner below p, and receive the result at the end.
// Without a tree, all-reduce is a reduce-scatter and an all-gather. B is always the size of the
// whole buffer: what is reduced, what each rank has after a gather, or what one rank sends to all
// others together.
//
//   Program program;
//   const std::vector<int> last = add_phase(program, {Algorithm::kRing, 0, 8},
//                                           Collective::kAllReduce, 64e6, {});
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/network/collective.hpp"
#include "simulate/network/exchange_program.hpp"

namespace nereus::simulate {

enum class Algorithm { kRing, kDirect, kHalvingDoubling, kTree, kDoubleTree, kTwoWayRing };
inline constexpr Algorithm kAlgorithms[] = {
    Algorithm::kRing, Algorithm::kDirect,     Algorithm::kHalvingDoubling,
    Algorithm::kTree, Algorithm::kDoubleTree, Algorithm::kTwoWayRing};
std::string_view to_string(Algorithm algorithm);
std::optional<Algorithm> parse_algorithm(std::string_view text);

struct Phase {
  Algorithm algorithm = Algorithm::kRing;
  int dimension = 0;
  int size = 1;
};

// Trees support all-reduce only.
bool offers(Algorithm algorithm, Collective collective);

// Adds the exchanges of one phase; the first ones follow all of `after`. Returns the exchanges that
// the next phase must wait for (`after` itself if there is only one rank).
std::vector<int> add_phase(Program& program, const Phase& phase, Collective collective,
                           double bytes, const std::vector<int>& after);

// Defined in the algorithms' source files.
std::vector<int> add_ring(Program&, const Phase&, Collective, double bytes, std::vector<int> after);
std::vector<int> add_two_way_ring(Program&, const Phase&, Collective, double bytes,
                                  std::vector<int> after);
std::vector<int> add_direct(Program&, const Phase&, Collective, double bytes,
                            std::vector<int> after);
std::vector<int> add_halving_doubling(Program&, const Phase&, Collective, double bytes,
                                      std::vector<int> after);
std::vector<int> add_tree(Program&, const Phase&, double bytes, const std::vector<int>& after);

}  // namespace nereus::simulate
