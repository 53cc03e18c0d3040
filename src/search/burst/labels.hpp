// Labels of the burst search: what a part of a plan costs, and how it came about. Inside
// search/burst only.
#pragma once

#include <vector>

namespace nereus::burst {

// How a label came about: the label before it, what was chosen on the link between, and the block.
// A node of branches has no block: `before` are the branches so far, `link` is this one's.
struct Step {
  int before = -1;
  int link = -1;
  int block = -1;
  int candidate = 0;
  bool away = false;  // the branch has ranks of its own
};

struct Label {
  double seconds = 0;
  double rank_seconds = 0;
  double third = 0;  // bytes on the trunk's ranks, where memory binds
  int before = -1;   // steps
  int link = -1;
};
using Labels = std::vector<Label>;

// Drops every label that another is at least as good as, in all three; of equals one stays. Sorted
// by seconds. Labels that gain less than that share of rank-seconds are dropped too (0: none), but
// not the one of the least.
void keep_best(Labels& labels, double gain = 0);

// The best of both by seconds and rank-seconds alone. `into` is such a list already, `more` is
// sorted by seconds.
void merge_best(Labels& into, const Labels& more);

}  // namespace nereus::burst
