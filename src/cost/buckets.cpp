#include "cost/buckets.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace nereus::cost {

std::vector<Bucket> bucket_gradients(const std::vector<double>& tensor_bytes,
                                     const BucketLimits& limits) {
  std::vector<Bucket> buckets;
  bool open = false;
  for (int i = static_cast<int>(tensor_bytes.size()) - 1; i >= 0; --i) {
    if (!open) buckets.emplace_back();
    Bucket& own = buckets.back();
    own.first = i;
    ++own.count;
    own.bytes += tensor_bytes[i];
    open = own.bytes < (buckets.size() == 1 ? limits.first : limits.others);
  }
  return buckets;
}

ExposedSums exposed_sums(const std::vector<double>& ready, const std::vector<double>& seconds,
                         double backward) {
  NEREUS_CHECK(ready.size() == seconds.size(), "every bucket is ready once and takes its time");
  ExposedSums out;
  double end = 0;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    end = std::max(ready[i], end) + seconds[i];
    out.busy += seconds[i];
    out.ends.push_back(end);
  }
  out.stall = std::max(0.0, end - backward);
  return out;
}

}  // namespace nereus::cost
