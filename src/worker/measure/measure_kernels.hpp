// The kernels of training, by shape and precision: products of matrices, attention, norms,
// element-wise functions, convolutions, the optimizer's update; and copies in memory, between host
// and device where there are two.
//
// All of them are timed in rounds, one repeat of each a round, so that what disturbs the machine
// for a moment disturbs one repeat of a few. Few rounds are enough: `nereus measure` starts several
// processes one after the other, and what they find differs by more than repeats within one do.
//
//   std::vector<profile::Kernel> kernels = measure_kernels(device, depth, say);
#pragma once

#include <functional>
#include <string>

#include "profile/machine_profile.hpp"
#include "worker/device/torch.hpp"

namespace nereus::worker {

// How thorough: rounds, seconds of one repeat, and whether the large shapes are measured too.
struct Depth {
  int rounds = 5;
  double repeat_seconds = 0.02;
  bool all_shapes = true;
};
Depth depth_of(bool quick);

using Say = std::function<void(const std::string& what)>;  // what is measured now

std::vector<profile::Kernel> measure_kernels(const at::Device& device, const Depth& depth,
                                             const Say& say);
std::vector<profile::Copy> measure_copies(const at::Device& device, const Depth& depth,
                                          const Say& say);
profile::Jitter measure_jitter(const at::Device& device, bool quick);

}  // namespace nereus::worker
