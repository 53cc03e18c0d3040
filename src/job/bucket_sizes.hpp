// The bucket size of the worker's gradient all-reduces, for code that reports it without the
// worker's headers, which need libtorch.
//
//   answer.bucket_bytes = kBucketBytes;
#pragma once

#include <cstdint>

namespace nereus::job {

// Layers with fewer bytes of gradients than this are reduced in buckets of this size
// (worker/state/gradient_buckets.hpp).
inline constexpr std::int64_t kBucketBytes = 1 << 20;

}  // namespace nereus::job
