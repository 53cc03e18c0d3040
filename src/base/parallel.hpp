// Loops over all cores. Each index is handed out once, in no order; the results belong in a place
// of their own per index, so that they are the same at any number of threads.
//
//   std::vector<double> costs(plans.size());
//   parallel_for(plans.size(), [&](std::size_t i) { costs[i] = cost(plans[i]); });
//
// oneTBB does the work, so tbb::global_control limits the threads and loops may nest. Under
// ThreadSanitizer plain threads do, because Debian's oneTBB is not instrumented and would hide, or
// seem to cause, every race. An exception of the body comes out here, after all threads are done.
#pragma once

#include <cstddef>
#include <functional>

namespace nereus {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace nereus
