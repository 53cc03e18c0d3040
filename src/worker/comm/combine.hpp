// into[i] = into[i] + from[i], or the larger of the two: the arithmetic of sums over ranks, on
// plain memory. It needs no libtorch (whose own additions would start threads beside those that
// compute).
//
// Sums of bf16 and fp16 are made in fp32 and rounded to nearest even; NaN stays NaN.
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
