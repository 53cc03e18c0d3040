#include "worker/comm/combine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "worker/device/torch.hpp"

namespace nereus::worker {
namespace {

// All pairs of the values that matter, and many at random, as bits.
std::vector<std::uint16_t> interesting_bits(unsigned seed) {
  std::vector<std::uint16_t> bits = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400,
                                     0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3c00, 0x3c01,
                                     0x3f80, 0x3f81, 0x7f7f, 0x7f80, 0xff80, 0x7fc0,
                                     0x0080, 0x007f, 0x4b80, 0x6400, 0x0c00, 0x1400};
  std::mt19937 random(seed);
  for (int i = 0; i < 500; ++i) bits.push_back(static_cast<std::uint16_t>(random()));
  return bits;
}

void expect_as_libtorch(Element element, at::ScalarType type) {
  const auto bits = interesting_bits(5);
  const auto n = static_cast<std::int64_t>(bits.size());
  at::Tensor a = at::empty({n * n}, at::kShort), b = at::empty({n * n}, at::kShort);
  for (std::int64_t i = 0; i < n * n; ++i) {
    a.data_ptr<std::int16_t>()[i] = static_cast<std::int16_t>(bits[i / n]);
    b.data_ptr<std::int16_t>()[i] = static_cast<std::int16_t>(bits[i % n]);
  }
  const at::Tensor x = a.view(type), y = b.view(type);
  at::Tensor sum = x.clone(), most = x.clone();
  add_into(element, sum.data_ptr(), y.data_ptr(), static_cast<std::size_t>(n * n));
  max_into(element, most.data_ptr(), y.data_ptr(), static_cast<std::size_t>(n * n));
  const auto same = [](const at::Tensor& one, const at::Tensor& other) {
    return at::logical_or(one.eq(other), at::logical_and(one.isnan(), other.isnan()))
        .all()
        .item<bool>();
  };
  EXPECT_TRUE(same(sum, (x.to(at::kFloat) + y.to(at::kFloat)).to(type)));
  EXPECT_TRUE(same(most, at::maximum(x.to(at::kFloat), y.to(at::kFloat)).to(type)));
}

TEST(Combine, BFloat16AsLibtorch) { expect_as_libtorch(Element::kBFloat16, at::kBFloat16); }
TEST(Combine, Float16AsLibtorch) { expect_as_libtorch(Element::kFloat16, at::kHalf); }

template <typename T>
void expect_plain(Element element) {
  std::vector<T> a, b;
  for (int i = 0; i < 77; ++i) {
    a.push_back(static_cast<T>(i));
    b.push_back(static_cast<T>(50 - i / 2));
  }
  std::vector<T> sum = a, most = a;
  add_into(element, sum.data(), b.data(), sum.size());
  max_into(element, most.data(), b.data(), most.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(sum[i], static_cast<T>(a[i] + b[i]));
    EXPECT_EQ(most[i], std::max(a[i], b[i]));
  }
}

TEST(Combine, EveryOtherType) {
  expect_plain<double>(Element::kFloat64);
  expect_plain<float>(Element::kFloat32);
  expect_plain<std::int64_t>(Element::kInt64);
  expect_plain<std::int32_t>(Element::kInt32);
  expect_plain<std::int16_t>(Element::kInt16);
  expect_plain<std::int8_t>(Element::kInt8);
  expect_plain<std::uint8_t>(Element::kByte);
}

TEST(Combine, NaNWinsFromEitherSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float values[] = {nan, 1};
  const float others[] = {1, nan};
  max_into(Element::kFloat32, values, others, 2);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_TRUE(std::isnan(values[1]));
}

}  // namespace
}  // namespace nereus::worker
