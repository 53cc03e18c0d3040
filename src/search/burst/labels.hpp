// Labels of the burst search: what a part of a plan costs, and how it was built. Only for use
// inside search/burst.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace nereus::burst {

// How a label was built: the label before it, the choice on the link between, and the block. A step
// that joins branches has no block: `before` is the step of the branches joined so far, and `link`
// is the step of the branch that is added.
struct Step {
  int before = -1;
  int link = -1;
  int block = -1;
  int candidate = 0;
  bool away = false;  // the branch runs on ranks off the trunk
  int renamed = -1;   // index in Walk::renamed of the names of `link`'s blocks; -1: unchanged
};

struct Label {
  double seconds = 0;
  double rank_seconds = 0;
  double third = 0;  // bytes on the trunk's ranks, if memory is limited
  int before = -1;   // index of a step
  int link = -1;
};
using Labels = std::vector<Label>;
using LabelList = std::span<const Label>;

// A list of labels per candidate, in one piece of memory.
class States {
 public:
  void add(LabelList list);  // adds the list of the next candidate
  std::size_t size() const { return begin_.size() - 1; }
  LabelList operator[](std::size_t candidate) const {
    return {labels_.data() + begin_[candidate], begin_[candidate + 1] - begin_[candidate]};
  }
  // By candidate, for lists sorted by seconds: seconds of the first label and rank-seconds of the
  // last one; infinite if the list is empty.
  const std::vector<double>& seconds() const { return seconds_; }
  const std::vector<double>& rank_seconds() const { return rank_seconds_; }

 private:
  Labels labels_;
  std::vector<std::size_t> begin_{0};
  std::vector<double> seconds_, rank_seconds_;
};

// Drops every label that another one dominates in all three numbers; of equal labels one stays.
// Sorts by seconds. With `gain` > 0, also drops labels that improve rank-seconds by less than that
// share, except the one with the least rank-seconds.
void keep_best(Labels& labels, double gain = 0);

// Merges two lists and drops labels that are dominated in seconds and rank-seconds. `into` must
// already be such a list, and `more` must be sorted by seconds. `scratch` is any list, to avoid
// allocations.
void merge_best(Labels& into, const Labels& more, Labels& scratch);
// Like merge_best, for one label.
void insert_best(Labels& into, const Label& own);

// In a list sorted by seconds, the number of labels that are at least as fast. Most lists are
// short.
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

// Whether a label of a list sorted by seconds is at least as good, in seconds and rank-seconds.
inline bool has_as_good(LabelList labels, double seconds, double rank_seconds) {
  const std::size_t num = num_as_fast(labels, seconds);
  return num > 0 && labels[num - 1].rank_seconds <= rank_seconds;
}

}  // namespace nereus::burst
