// A hash table from keys to rows of equal length. It is filled once and read often: a lookup
// allocates nothing, and rows never move, so pointers to them stay valid.
//
//   RowTable<Key, Value> table(3, 64);                   // three values per row, room for 64 rows
//   if (const Value* row = table.find(key)) ...          // row[0] .. row[2]
//   Value* row = table.insert(key);                      // the key must be new
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace nereus::cost {

// Mixes a key's numbers into 64 bits (the finalizer of splitmix64, Steele 2014).
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ULL;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBULL;
  return hash ^ (hash >> 31);
}

// Key needs `==` and `std::uint64_t hash() const`.
template <class Key, class Value>
class RowTable {
 public:
  RowTable(std::size_t row_size, int num_rows)
      : row_size_(row_size), block_rows_(static_cast<std::size_t>(std::max(1, num_rows))) {
    slots_.resize(std::bit_ceil(2 * block_rows_));
  }

  const Value* find(const Key& key) const { return slots_[slot_of(slots_, key)].row; }

  Value* insert(const Key& key) {
    if (2 * (num_rows_ + 1) > slots_.size()) grow();
    if (num_rows_ % block_rows_ == 0)
      blocks_.push_back(std::make_unique<Value[]>(block_rows_ * row_size_));
    Value* row = &blocks_.back()[(num_rows_ % block_rows_) * row_size_];
    ++num_rows_;
    slots_[slot_of(slots_, key)] = {key, row};
    return row;
  }

  std::size_t num_rows() const { return num_rows_; }

 private:
  struct Slot {
    Key key{};
    Value* row = nullptr;  // null: empty
  };

  static std::size_t slot_of(const std::vector<Slot>& slots, const Key& key) {
    std::size_t i = key.hash() & (slots.size() - 1);
    while (slots[i].row != nullptr && !(slots[i].key == key)) i = (i + 1) & (slots.size() - 1);
    return i;
  }

  void grow() {
    std::vector<Slot> bigger(slots_.size() * 2);
    for (const Slot& slot : slots_)
      if (slot.row != nullptr) bigger[slot_of(bigger, slot.key)] = slot;
    slots_ = std::move(bigger);
  }

  std::size_t row_size_;
  std::size_t block_rows_;
  std::size_t num_rows_ = 0;
  std::vector<Slot> slots_;  // open addressing, size is a power of two
  std::vector<std::unique_ptr<Value[]>> blocks_;
};

}  // namespace nereus::cost
