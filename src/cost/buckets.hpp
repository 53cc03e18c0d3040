// Gradient all-reduces in buckets that overlap with the backward pass, as in PyTorch's
// DistributedDataParallel, and the part of their time that stays exposed.
//
// Buckets (torch DistributedDataParallel; Li 2020, 2006.15704): gradients join a bucket in the
// order in which the backward pass computes them, assumed to be the reverse of their registration.
// A bucket closes once it has reached its limit: 1 MiB for the first, so that communication starts
// early, and 25 MiB for the others. A tensor is never split, so a bucket may exceed its limit. A
// limit of one byte gives one all-reduce per tensor.
//
// Exposed time: bucket b is ready at r_b, when the backward pass of its last tensor is done. Its
// all-reduce takes t_b. All-reduces run one after the other, in order:
//   e_b = max(r_b, e_(b-1)) + t_b          stall = max(0, e_last - T_bwd)
// So stall >= t_last if the last bucket holds the first layer's gradient, and stall >= sum t_b -
// T_bwd.
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

// `tensor_bytes` is in order of registration. The result is in the order in which buckets are sent.
std::vector<Bucket> bucket_gradients(const std::vector<double>& tensor_bytes,
                                     const BucketLimits& limits);

struct ExposedSums {
  double stall = 0;            // seconds that all-reduces continue after the backward pass
  double busy = 0;             // seconds of all all-reduces, exposed or not
  std::vector<double> ends{};  // of each bucket, from the start of the backward pass
};

// `ready` and `seconds` have one entry per bucket. Times count from the start of the backward pass.
ExposedSums exposed_sums(const std::vector<double>& ready, const std::vector<double>& seconds,
                         double backward);

}  // namespace nereus::cost
