// into[i] = into[i] + from[i], or the maximum of both: the arithmetic of reductions, on plain
// memory. It does not use libtorch, whose additions would start threads that compete with
// computation.
//
// Sums in bf16 and fp16 are computed in fp32 and rounded to nearest even; NaN stays NaN.
//
//   add_into(Element::kFloat32, mine, theirs, count);
#pragma once

#include <cstddef>

namespace nereus::worker {

enum class Element {
  kFloat64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kByte
};

void add_into(Element element, void* into, const void* from, std::size_t count);
void max_into(Element element, void* into, const void* from, std::size_t count);

}  // namespace nereus::worker
