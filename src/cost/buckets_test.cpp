#include "cost/buckets.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "model/cnn_recipe.hpp"

namespace nereus::cost::buckets_test {
namespace {

std::vector<double> tensor_bytes(const model::CnnShape& shape) {
  std::vector<double> bytes;
  for (const model::CnnLayer& layer : model::cnn_recipe(shape))
    for (const model::CnnTensor& tensor : model::parameters_of(layer)) {
      double elements = 1;
      for (const std::int64_t length : tensor.shape) elements *= static_cast<double>(length);
      bytes.push_back(4 * elements);
    }
  return bytes;
}

std::vector<double> sizes(const std::vector<Bucket>& buckets) {
  std::vector<double> bytes;
  for (const Bucket& own : buckets) bytes.push_back(own.bytes);
  return bytes;
}

// As logged by torch: github.com/pytorch/pytorch issue 48880.
TEST(Buckets, OfResnet18AreTorchs) {
  const std::vector<double> tensors = tensor_bytes({.family = "resnet", .depth = 18});
  ASSERT_EQ(tensors.size(), 62U);
  EXPECT_EQ(sizes(bucket_gradients(tensors, kTorchBuckets)),
            (std::vector<double>{2052000, 28852224, 15853824}));
  EXPECT_EQ(bucket_gradients(tensors, kOneByTensor).size(), 62U);
  EXPECT_TRUE(bucket_gradients({}, kTorchBuckets).empty());
}

TEST(Buckets, CloseAtTheirLimitAndNotBefore) {
  EXPECT_EQ(sizes(bucket_gradients({5, 4, 6, 3, 7}, {7, 10})), (std::vector<double>{7, 13, 5}));
  EXPECT_EQ(sizes(bucket_gradients({5, 4, 6, 3, 7}, {8, 10})), (std::vector<double>{10, 10, 5}));
}

RC_GTEST_PROP(Buckets, HoldEveryTensorOnceInReverse, ()) {
  const auto raw = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1 << 22));
  const std::vector<double> tensors(raw.begin(), raw.end());
  const BucketLimits limits{static_cast<double>(*rc::gen::inRange(1, 1 << 21)),
                            static_cast<double>(*rc::gen::inRange(1, 1 << 25))};
  int next = static_cast<int>(tensors.size());
  const std::vector<Bucket> buckets = bucket_gradients(tensors, limits);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& own = buckets[i];
    RC_ASSERT(own.count > 0 && own.first + own.count == next);
    const auto begin = tensors.begin() + own.first;
    RC_ASSERT(own.bytes == std::accumulate(begin, begin + own.count, 0.0));
    // All but the last have reached their limit, and had not before their last tensor.
    const double limit = i == 0 ? limits.first : limits.others;
    RC_ASSERT(i + 1 == buckets.size() || own.bytes >= limit);
    RC_ASSERT(own.bytes - tensors[own.first] < limit);
    next = own.first;
  }
  RC_ASSERT(next == 0);
}

TEST(ExposedSums, ByHand) {
  // Ready at 1, 2, 4; the second waits for the first, the third starts when it is ready.
  const ExposedSums own = exposed_sums({1, 2, 4}, {2, 0.5, 3}, 4);
  EXPECT_EQ(own.ends, (std::vector<double>{3, 3.5, 7}));
  EXPECT_EQ(own.stall, 3);
  EXPECT_EQ(own.busy, 5.5);
  EXPECT_EQ(exposed_sums({1}, {1}, 5).stall, 0);
  EXPECT_EQ(exposed_sums({}, {}, 5).stall, 0);
}

RC_GTEST_PROP(ExposedSums, AreBoundedAndSlowerSumsNeverWaitLess, ()) {
  const int count = *rc::gen::inRange(1, 20);
  std::vector<double> ready, seconds;
  double at = 0, last = 0;
  for (int i = 0; i < count; ++i) {
    ready.push_back(at += *rc::gen::inRange(0, 100));
    seconds.push_back(last = *rc::gen::inRange(1, 100));
  }
  const double backward = at;
  const ExposedSums own = exposed_sums(ready, seconds, backward);
  RC_ASSERT(own.stall >= last);
  RC_ASSERT(own.stall >= own.busy - backward);
  RC_ASSERT(own.stall <= own.busy);
  const auto which = static_cast<std::size_t>(*rc::gen::inRange(0, count));
  seconds[which] *= 2;
  RC_ASSERT(exposed_sums(ready, seconds, backward).stall >= own.stall);
}

}  // namespace
}  // namespace nereus::cost::buckets_test
