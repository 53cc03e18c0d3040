// Measures the cost of launching operations: how many a step has, and how long an operation without
// any work takes.
//
//   const std::int64_t count = count_operations([&] { executor.run(step); });
//   count * seconds_of_empty_operation(device);          // the step's launch overhead on a CPU
//
// libtorch's observer does the counting (at::RecordFunction: every operator, and every backward
// node). Empty operations are products, sums and their gradients on tensors without rows: dispatch,
// autograd and allocation as in a step, but no arithmetic. On a GPU, launches run ahead of the
// computation; worker/run/blocks.cpp measures how much of them is exposed.
#pragma once

#include <cstdint>
#include <functional>

#include "worker/device/torch.hpp"

namespace nereus::worker {

std::int64_t count_operations(const std::function<void()>& work);
double seconds_of_empty_operation(at::Device device);

}  // namespace nereus::worker
