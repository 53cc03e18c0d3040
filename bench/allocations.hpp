// How often this program has asked for memory: operator new counts (allocations.cpp).
//
//   const long before = num_allocations();
//   work();
//   num_allocations() - before;
#pragma once

namespace nereus::bench {

long num_allocations();

}  // namespace nereus::bench
