// What moves take between every pair of candidates, worked out once for each number of bytes.
// Inside search/burst only.
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
    // By candidates to and from.
    std::vector<double> seconds_into;
    std::vector<double> rank_seconds_into;
  };
  // away: between ranks that are not the same. Several threads may ask for what one of them had.
  const Table& of(double bytes, bool away);

 private:
  const Problem& problem_;
  std::size_t k_;
  std::map<std::pair<double, bool>, Table> tables_;
};

}  // namespace nereus::burst
