// The algorithms of collectives, one file each, as phases along one dimension of n ranks.
//
//   ring               reduce-scatter, all-gather: n-1 steps of B/n to the next; all-to-all: step k
//                      goes k further (routed)
//   two-way ring       half of it each way round; all-to-all: steps k further and k back at once
//   direct             the same in one step to all others at once
//   halving-doubling   log2 n steps with halves, quarters, ... (Thakur, Rabenseifner, Gropp 2005);
//                      see below for other n. All-to-all: Bruck's, ceil(log2 n) steps of half the
//                      bytes, any n (Bruck et al. 1997)
//   tree               all-reduce: up a binary tree and down again
//   double tree        two of them, each with half of the bytes, leaves of one inside the other
//                      (Sanders, Speck, Träff 2009)
// Halving-doubling on n that is no power of two: the n - p ranks above p = 2^floor(log2 n) first
// give theirs to a partner below, and get the result in the end.
// All-reduce is reduce-scatter and all-gather where there is no tree. Bytes B are always the whole:
// what is reduced, what is gathered in the end, what one rank sends to all.
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

// Trees offer all-reduce only.
bool offers(Algorithm algorithm, Collective collective);

// Adds the exchanges of one phase, the first after all of `after`; returns those that the next
// phase waits for (`after` itself where there is only one rank).
std::vector<int> add_phase(Program& program, const Phase& phase, Collective collective,
                           double bytes, const std::vector<int>& after);

// Of the algorithms' own files.
std::vector<int> add_ring(Program&, const Phase&, Collective, double bytes, std::vector<int> after);
std::vector<int> add_two_way_ring(Program&, const Phase&, Collective, double bytes,
                                  std::vector<int> after);
std::vector<int> add_direct(Program&, const Phase&, Collective, double bytes,
                            std::vector<int> after);
std::vector<int> add_halving_doubling(Program&, const Phase&, Collective, double bytes,
                                      std::vector<int> after);
std::vector<int> add_tree(Program&, const Phase&, double bytes, const std::vector<int>& after);

}  // namespace nereus::simulate
