#include "search/burst/burst_places.hpp"

#include <algorithm>

namespace nereus::burst {

namespace {

class Places {
 public:
  Places(const Walk& walk, const Reduced& reduced, std::size_t num_blocks)
      : walk_(walk), reduced_(reduced), places_(num_blocks) {}

  std::vector<BlockPlace> of(int last) {
    visit(last, 0);
    return places_;
  }

 private:
  void visit(int index, int first_rank) {
    for (; index >= 0; index = walk_.step(index).before) {
      const Step& own = walk_.step(index);
      if (own.block >= 0)
        for (const int member : reduced_.members[block_of(own)])
          places_[member] = {own.candidate, first_rank};
      if (own.link < 0) continue;
      names_.push_back(own.renamed);
      visit(own.link, own.away ? free_rank(index) : first_rank);
      names_.pop_back();
    }
  }
  // In the current branch; an inner branch was renamed first.
  std::size_t block_of(const Step& step) const {
    int block = step.block;
    for (std::size_t i = names_.size(); i-- > 0;)
      if (names_[i] >= 0) block = walk_.renamed(names_[i])[block];
    return static_cast<std::size_t>(block);
  }
  // Behind the trunk's ranks and those of the link's other branches that left.
  int free_rank(int index) const {
    int first = reduced_.problem.trunk_ranks;
    for (int i = walk_.step(index).before; i >= 0; i = walk_.step(i).before)
      if (walk_.step(i).away) first += widest(walk_.step(i).link);
    return first;
  }
  int widest(int index) const {
    int most = 0;
    for (; index >= 0; index = walk_.step(index).before) {
      const Step& own = walk_.step(index);
      if (own.block >= 0) most = std::max(most, reduced_.problem.counts[own.candidate]);
      if (own.link >= 0) most = std::max(most, widest(own.link));
    }
    return most;
  }

  const Walk& walk_;
  const Reduced& reduced_;
  std::vector<BlockPlace> places_;
  std::vector<int> names_;  // of the branches around, outermost first
};

}  // namespace

std::vector<BlockPlace> places_of(const Walk& walk, const Reduced& reduced, std::size_t num_blocks,
                                  int last) {
  return Places(walk, reduced, num_blocks).of(last);
}

}  // namespace nereus::burst
