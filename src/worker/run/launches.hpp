// What it costs to start operations, whatever they compute: how many a step has, and how long one
// takes that has nothing to do.
//
//   const std::int64_t count = count_operations([&] { executor.run(step); });
//   count * seconds_of_empty_operation(device);          // the step's launch overhead on a CPU
//
// libtorch's own observer counts (at::RecordFunction: every operator, and every node of backward).
// The empty ones are products, sums and their gradients on tensors of no rows: dispatch, autograd
// and allocation as in a step, and no arithmetic. On a GPU starting runs ahead of computing, and
// what shows of it is another question (worker/run/blocks.cpp asks it).
#pragma once

#include <cstdint>
#include <functional>

#include "worker/device/torch.hpp"

namespace nereus::worker {

std::int64_t count_operations(const std::function<void()>& work);
double seconds_of_empty_operation(at::Device device);

}  // namespace nereus::worker
