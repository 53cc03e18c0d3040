// Measures the kernels of training, by shape and precision: matrix products, attention, norms,
// element-wise functions, convolutions, the optimizer's update; and copies in memory, and between
// host and device if there is a separate device.
//
// The kernels are timed in rounds, with one repeat of each kernel per round, so that a short
// disturbance of the machine affects only one repeat of a few kernels. Few rounds are enough:
// `nereus measure` starts several processes one after the other, and results differ more between
// processes than between repeats in one process.
//
//   std::vector<profile::Kernel> kernels = measure_kernels(device, depth, say);
#pragma once

#include <functional>
#include <string>

#include "profile/machine_profile.hpp"
#include "worker/device/torch.hpp"

namespace nereus::worker {

// How thorough: rounds, seconds per repeat, and whether the large shapes are measured too.
struct Depth {
  int rounds = 5;
  double repeat_seconds = 0.02;
  bool all_shapes = true;
};
Depth depth_of(bool quick);

using Say = std::function<void(const std::string& what)>;  // what is being measured

std::vector<profile::Kernel> measure_kernels(const at::Device& device, const Depth& depth,
                                             const Say& say);
std::vector<profile::Copy> measure_copies(const at::Device& device, const Depth& depth,
                                          const Say& say);
profile::Jitter measure_jitter(const at::Device& device, bool quick);

}  // namespace nereus::worker
