#include "base/format.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace nereus::format_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Format, Seconds) {
  EXPECT_EQ(format_seconds(Seconds{1.4219}), "1.42 s");
  EXPECT_EQ(format_seconds(Seconds{0.0378}), "37.8 ms");
  EXPECT_EQ(format_seconds(Seconds{3e-6}), "3.00 us");
  EXPECT_EQ(format_seconds(Seconds{4e-10}), "0.400 ns");
  EXPECT_EQ(format_seconds(Seconds{90}), "1.50 min");
  EXPECT_EQ(format_seconds(Seconds{5400}), "1.50 h");
  EXPECT_EQ(format_seconds(Seconds{30 * 86400.0}), "30.0 days");
  EXPECT_EQ(format_seconds(Seconds{0}), "0 s");
  EXPECT_EQ(format_seconds(Seconds{-0.5}), "-500 ms");
  EXPECT_EQ(format_seconds(Seconds{0.99996}), "1.00 s");  // rounds up into the next unit
  EXPECT_EQ(format_seconds(Seconds{kNan}), "-");
}

TEST(Format, BytesAndRates) {
  EXPECT_EQ(format_bytes(Bytes{71.94 * kGiB}), "71.9 GiB");
  EXPECT_EQ(format_bytes(Bytes{1023.9 * kMiB}), "1.00 GiB");
  EXPECT_EQ(format_bytes(Bytes{1013.4 * kMiB}), "1013 MiB");
  EXPECT_EQ(format_bytes(Bytes{512}), "512 B");
  EXPECT_EQ(format_bytes(Bytes{0}), "0 B");
  EXPECT_EQ(format_rate(BytesPerSecond{450e9}), "450 GB/s");
  EXPECT_EQ(format_rate(BytesPerSecond{3.35e12}), "3.35 TB/s");
  EXPECT_EQ(format_rate(BytesPerSecond{kInfinity}), "-");
}

TEST(Format, Flops) {
  EXPECT_EQ(format_flops(Flops{6.5e15}), "6.50 PFLOP");
  EXPECT_EQ(format_flops(FlopsPerSecond{312e12}), "312 TFLOP/s");
  EXPECT_EQ(format_flops(FlopsPerSecond{kNan}), "-");
}

TEST(Format, Money) {
  EXPECT_EQ(format_usd(Usd{1234567.891}), "$1,234,567.89");
  EXPECT_EQ(format_usd(Usd{0.00123}), "$0.0012");
  EXPECT_EQ(format_usd(Usd{0}), "$0.00");
  EXPECT_EQ(format_usd(Usd{-12.5}), "-$12.50");
  EXPECT_EQ(format_usd(UsdPerHour{98.32}), "$98.32/h");
}

TEST(Format, RawNumbersOfAUnit) {
  EXPECT_EQ(human(0.0378, Unit::kSeconds), "37.8 ms");
  EXPECT_EQ(human(70.6e9, Unit::kParameters), "70.6 B");
  EXPECT_EQ(human(999.6, Unit::kParameters), "1.00 k");
  EXPECT_EQ(human(12, Unit::kParameters), "12.0");
  EXPECT_EQ(human(16384, Unit::kCount), "16,384");
  EXPECT_EQ(human(1e30, Unit::kCount), "1e+30");
  EXPECT_EQ(human(kNan, Unit::kCount), "-");
  EXPECT_EQ(human(3.91, Unit::kUsdPerHour), "$3.91/h");
  EXPECT_EQ(human(700, Unit::kWatts), "700 W");
}

// A value in its unit reads the same as human() shows it.
RC_GTEST_PROP(Format, ScalesAgreeWithText, ()) {
  const Unit unit = *rc::gen::element(Unit::kSeconds, Unit::kBytes, Unit::kBytesPerSecond,
                                      Unit::kFlops, Unit::kFlopsPerSecond, Unit::kParameters);
  const double value = std::pow(10.0, *rc::gen::inRange(-12, 20)) * *rc::gen::inRange(1, 1000);
  const UnitScale scale = unit_scale(value, unit);
  const std::string number = format_significant(value / scale.size);
  RC_ASSERT(human(value, unit) ==
            (scale.unit.empty() ? number : number + " " + std::string(scale.unit)));
  RC_ASSERT(unit_scale(kNan, unit).size > 0);
}

TEST(Format, CountsAndShares) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(INT64_MIN), "-9,223,372,036,854,775,808");
  EXPECT_EQ(format_share(0.4234), "42.3 %");
  EXPECT_EQ(format_share(kNan), "-");
}

TEST(Format, CountedThings) {
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(12, "rank"), "12 ranks");
  EXPECT_EQ(counted(std::size_t{1}, "batch", "batches"), "1 batch");
  EXPECT_EQ(counted(std::int64_t{2048}, "batch", "batches"), "2048 batches");
  EXPECT_EQ(counted(format_count(1), "row has", "rows have"), "1 row has");
  EXPECT_EQ(counted(format_count(2048), "row has", "rows have"), "2,048 rows have");
  EXPECT_EQ(counted("1.5", "node"), "1.5 nodes");
}

TEST(Format, SignificantDigits) {
  EXPECT_EQ(format_significant(1.4219), "1.42");
  EXPECT_EQ(format_significant(1523), "1523");
  EXPECT_EQ(format_significant(0.001234), "0.00123");
  EXPECT_EQ(format_significant(9.999), "10.0");
  EXPECT_EQ(format_significant(1e300), "1e+300");
  EXPECT_EQ(format_significant(5e-324), "4.94e-324");
}

RC_GTEST_PROP(Format, KeepsThreeDigits, ()) {
  const double mantissa = *rc::gen::inRange(100, 1000);
  const int exponent = *rc::gen::inRange(-6, 9);
  const double value = mantissa * std::pow(10.0, exponent);
  RC_ASSERT(std::abs(std::stod(format_significant(value)) / value - 1) < 1e-9);
}

}  // namespace
}  // namespace nereus::format_test
