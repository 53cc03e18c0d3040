// Detects duplicate keys while a table grows. Small tables are searched linearly; a large table
// gets a set of its keys, so that no input takes quadratic time.
//
//   UniqueKeys keys;                       // one per table
//   table.emplace_back(key, value);
//   if (!keys.last_is_new(table)) ...      // call after each new member
#pragma once

#include <string>
#include <unordered_set>

#include "spec/value.hpp"

namespace nereus::spec {

class UniqueKeys {
 public:
  bool last_is_new(const Table& table) {
    constexpr std::size_t kLarge = 32;
    const std::string& key = table.back().first;
    if (table.size() < kLarge) {
      for (std::size_t i = 0; i + 1 < table.size(); ++i)
        if (table[i].first == key) return false;
      return true;
    }
    if (seen_.empty())
      for (std::size_t i = 0; i + 1 < table.size(); ++i) seen_.insert(table[i].first);
    return seen_.insert(key).second;
  }

 private:
  std::unordered_set<std::string> seen_;
};

}  // namespace nereus::spec
