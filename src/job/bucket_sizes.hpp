// How the worker puts gradients together before they are summed over data ranks, for those who
// report it without the worker's headers, which need libtorch.
//
//   answer.bucket_bytes = kBucketBytes;
#pragma once

#include <cstdint>

namespace nereus::job {

// Layers of fewer bytes of gradients travel in buckets of so many
// (worker/state/gradient_buckets.hpp).
inline constexpr std::int64_t kBucketBytes = 1 << 20;

}  // namespace nereus::job
