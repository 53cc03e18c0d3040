// The merge step of byte-pair encoding: of all adjacent pairs with a rule, the one with the lowest
// rank is joined first (of equal ones the leftmost), until no rule applies (Sennrich, Haddow and
// Birch, "Neural machine translation of rare words with subword units", 2016).
//
//   MergeTable merges;
//   merges.add(left, right, rank, joined);
//   merges.apply(symbols);                 // in place
//
// Short pieces are searched completely for each join; long ones keep their pairs in a heap, so that
// n symbols take O(n log n). Both give the same result.
#pragma once

#include <cstdint>
#include <vector>

namespace nereus::data {

class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank = kNone;
    std::uint32_t joined = 0;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // If a pair is added again, it gets the later rank. Ranks must be below kNone.
  void add(std::uint32_t left, std::uint32_t right, std::uint32_t rank, std::uint32_t joined);
  Merge find(std::uint32_t left, std::uint32_t right) const;

  void apply(std::vector<std::uint32_t>& symbols) const;
  void apply_short(std::vector<std::uint32_t>& symbols) const;
  void apply_long(std::vector<std::uint32_t>& symbols) const;

 private:
  struct Slot {
    std::uint64_t pair = ~std::uint64_t{0};  // left << 32 | right; two kNone: empty
    Merge merge;
  };
  std::size_t place_of(std::uint64_t pair) const;
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(16);  // size is a power of two; at most half full
  std::size_t num_pairs_ = 0;
};

}  // namespace nereus::data
