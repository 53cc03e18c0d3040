// Gradients summed in buckets while the backward pass runs: how PyTorch's data parallelism does it,
// and what of it the pass does not hide.
//
// Buckets (torch DistributedDataParallel; Li 2020, 2006.15704): gradients in the order in which
// backward makes them, which is taken as the reverse of their registration. A bucket closes once it
// has reached its limit: 1 MiB for the first, so that something is sent early, 25 MiB for the
// others. A tensor is never split, so a bucket may be larger. A limit of one byte is one sum a
// tensor.
//
// Exposed sums: bucket b is ready at r_b, when the backward of its last tensor is done, and takes
// t_b; sums run one after the other, in order:
//   e_b = max(r_b, e_(b-1)) + t_b          stall = max(0, e_last - T_bwd)
// So stall >= t_last where the last bucket holds the first layer's gradient, and
// stall >= sum t_b - T_bwd.
//
//   const std::vector<Bucket> buckets = bucket_gradients(bytes, kTorchBuckets);
//   const double stall = exposed_sums(ready, seconds, backward).stall;
#pragma once

#include <vector>

namespace nereus::cost {

struct BucketLimits {
  double first = 0;  // bytes
  double others = 0;
};
inline constexpr BucketLimits kTorchBuckets{1 << 20, 25 << 20};
inline constexpr BucketLimits kOneByTensor{1, 1};

struct Bucket {
  int first = 0;  // tensors first .. first + count - 1 in order of registration
  int count = 0;
  double bytes = 0;
  bool operator==(const Bucket&) const = default;
};

// Of tensors in order of registration; buckets in the order they are sent.
std::vector<Bucket> bucket_gradients(const std::vector<double>& tensor_bytes,
                                     const BucketLimits& limits);

struct ExposedSums {
  double stall = 0;            // after the backward pass
  double busy = 0;             // of all sums, hidden or not
  std::vector<double> ends{};  // of each bucket, from the beginning of backward
};

// Times from the beginning of backward, by bucket.
ExposedSums exposed_sums(const std::vector<double>& ready, const std::vector<double>& seconds,
                         double backward);

}  // namespace nereus::cost
