// Elements [begin, end) of a flat tensor; may be empty.
#pragma once

#include <cstdint>

namespace nereus::worker {

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

}  // namespace nereus::worker
