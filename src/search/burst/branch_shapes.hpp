// Detects branches and links that are the same problem: equal blocks (seconds and memory at every
// candidate) and equal bytes on their edges, in the same order. The repeated blocks of a ResNet are
// an example. The solution for one of them is valid for all. Only for use inside search/burst.
//
//   Shapes shapes(problem);
//   if (shapes.of(a) == shapes.of(b)) ...      // equal, except for the numbers of their blocks
//   blocks_of(a)[i], blocks_of(b)[i];          // the corresponding blocks
#pragma once

#include <map>
#include <vector>

#include "search/burst/series_parallel.hpp"

namespace nereus::burst {

class Shapes {
 public:
  explicit Shapes(const Problem& problem);

  int of(const Branch& branch);
  int of(const Link& link);

 private:
  using Text = std::vector<double>;  // a part, written without the numbers of its blocks
  void write(const Branch& branch, Text& out) const;
  void write(const Link& link, Text& out) const;
  int id_of(Text text);

  std::vector<int> kinds_;  // per block: equal blocks have equal kinds
  std::map<Text, int> ids_;
};

// All blocks of a branch, including those of branches within it, in the order of its parts.
std::vector<int> blocks_of(const Branch& branch);

}  // namespace nereus::burst
