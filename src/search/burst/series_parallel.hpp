// A graph of blocks as chains of links: what burst planning works on.
//
//   chain   blocks b_0, b_1, ... b_n that every path from b_0 to b_n passes
//   link    what lies between two of them: branches, each an edge or a chain with a link at
//           either end
//
// Every two-terminal series-parallel graph is such a chain. A part that is not (between two blocks
// neither a block that all paths pass nor parts that touch nowhere) is collapsed: its blocks become
// one, which runs them one after the other on one set of ranks; `notes` says so. Several blocks
// that read the sample, or whose output nobody reads, get a common first or last block of no cost.
//
//   const Reduced reduced = reduce(problem);
//   for (const Link& link : reduced.chain.links) ...
#pragma once

#include <string>
#include <vector>

#include "search/burst/problem.hpp"

namespace nereus::burst {

struct Link;

struct Chain {
  std::vector<int> blocks{};
  std::vector<Link> links;  // one less
};

struct Branch {
  Chain inner;             // no blocks: an edge
  std::vector<Link> ends;  // of a chain two: from the fork, to the join
  double bytes = 0;        // of an edge, a sample
  bool edge() const { return inner.blocks.empty(); }
};

struct Link {
  std::vector<Branch> branches;
  // A chain's link: one edge and nothing else.
  bool plain() const { return branches.size() == 1 && branches[0].edge(); }
  double bytes() const { return branches[0].bytes; }  // of a plain one
};

struct Reduced {
  Problem problem{};  // with blocks that were collapsed or added
  Chain chain{};
  // By block of `problem`: those of the problem that was given; none for an added end.
  std::vector<std::vector<int>> members{};
  std::vector<std::string> notes{};
};

// Throws Errors: no blocks, edges that do not go forward.
Reduced reduce(const Problem& problem);

}  // namespace nereus::burst
