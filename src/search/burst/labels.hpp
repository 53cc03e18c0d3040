// Labels of the burst search: what a part of a plan costs, and how it came about. Inside
// search/burst only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
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
  int renamed = -1;   // how blocks of `link` are called (Walk::renamed); -1: as they are
};

struct Label {
  double seconds = 0;
  double rank_seconds = 0;
  double third = 0;  // bytes on the trunk's ranks, where memory binds
  int before = -1;   // steps
  int link = -1;
};
using Labels = std::vector<Label>;
using LabelList = std::span<const Label>;

// A list of labels for each candidate, all in one piece of memory.
class States {
 public:
  void add(LabelList list);  // of the next candidate
  std::size_t size() const { return begin_.size() - 1; }
  LabelList operator[](std::size_t candidate) const {
    return {labels_.data() + begin_[candidate], begin_[candidate + 1] - begin_[candidate]};
  }
  // By candidate, of a list sorted by seconds: the first one's seconds and the last one's
  // rank-seconds; infinite where there are none.
  const std::vector<double>& seconds() const { return seconds_; }
  const std::vector<double>& rank_seconds() const { return rank_seconds_; }

 private:
  Labels labels_;
  std::vector<std::size_t> begin_{0};
  std::vector<double> seconds_, rank_seconds_;
};

// Drops every label that another is at least as good as, in all three; of equals one stays. Sorted
// by seconds. Labels that gain less than that share of rank-seconds are dropped too (0: none), but
// not the one of the least.
void keep_best(Labels& labels, double gain = 0);

// The best of both by seconds and rank-seconds alone. `into` is such a list already, `more` is
// sorted by seconds. `scratch`: any list, to save memory from being asked for again.
void merge_best(Labels& into, const Labels& more, Labels& scratch);
// The same for one label.
void insert_best(Labels& into, const Label& own);

// Of a list sorted by seconds, how many are as fast. Most lists are short.
inline std::size_t num_as_fast(LabelList labels, double seconds) {
  constexpr std::size_t kShort = 8;
  if (labels.size() > kShort)
    return static_cast<std::size_t>(
        std::partition_point(labels.begin(), labels.end(),
                             [&](const Label& own) { return own.seconds <= seconds; }) -
        labels.begin());
  std::size_t num = 0;
  while (num < labels.size() && labels[num].seconds <= seconds) ++num;
  return num;
}

// Whether one of a list of the best is at least as good, by seconds and rank-seconds alone.
inline bool has_as_good(LabelList labels, double seconds, double rank_seconds) {
  const std::size_t num = num_as_fast(labels, seconds);
  return num > 0 && labels[num - 1].rank_seconds <= rank_seconds;
}

}  // namespace nereus::burst
