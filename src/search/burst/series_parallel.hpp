// A graph of blocks as chains of links, the form that burst planning needs.
//
//   chain   blocks b_0, b_1, ... b_n that every path from b_0 to b_n passes
//   link    what connects two consecutive blocks of a chain: branches. A branch is an edge, or a
//           chain with a link at each end
//
// Every two-terminal series-parallel graph is such a chain. A part between two blocks that is not
// series-parallel (no block that all its paths pass, and no disjoint parts) is collapsed to one
// block, which runs its members one after the other on one set of ranks; `notes` reports this. If
// several blocks read the sample, or several blocks have an output that no block reads, they get a
// common first or last block without cost.
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
  std::vector<Link> links;  // one fewer than blocks
};

struct Branch {
  Chain inner;             // without blocks: an edge
  std::vector<Link> ends;  // of a chain: the links from the fork and to the join; of an edge: none
  double bytes = 0;        // of an edge, per sample
  bool edge() const { return inner.blocks.empty(); }
};

struct Link {
  std::vector<Branch> branches;
  // True for a chain's simple link: a single edge.
  bool plain() const { return branches.size() == 1 && branches[0].edge(); }
  double bytes() const { return branches[0].bytes; }  // of a plain link
};

struct Reduced {
  Problem problem{};  // after blocks were collapsed or added
  Chain chain{};
  // For each block of `problem`, the blocks of the given problem; empty for an added end.
  std::vector<std::vector<int>> members{};
  std::vector<std::string> notes{};
};

// Throws Errors if there are no blocks, or an edge does not go forward.
Reduced reduce(const Problem& problem);

}  // namespace nereus::burst
