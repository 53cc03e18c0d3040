// The costs of moves between every pair of candidates, computed once for each number of bytes. Only
// for use inside search/burst.
//
//   Moves moves(problem, k);
//   moves.of(bytes, false).seconds[from * k + to];
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "search/burst/problem.hpp"

namespace nereus::burst {

class Moves {
 public:
  // Between the first k candidates.
  Moves(const Problem& problem, std::size_t k) : problem_(problem), k_(k) {}

  struct Table {  // by candidates from and to: k x k
    std::vector<double> seconds;
    std::vector<double> rank_seconds;
    // Transposed: by candidates to and from.
    std::vector<double> seconds_into;
    std::vector<double> rank_seconds_into;
  };
  // `away`: the two blocks share no rank. Several threads may read a table that one of them has
  // computed.
  const Table& of(double bytes, bool away);

 private:
  const Problem& problem_;
  std::size_t k_;
  std::map<std::pair<double, bool>, Table> tables_;
};

}  // namespace nereus::burst
