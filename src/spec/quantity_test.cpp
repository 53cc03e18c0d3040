#include "spec/quantity.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace nereus::spec::quantity_test {
namespace {

TEST(Quantity, ReadsDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_bytes("80 GiB").value, Bytes{80 * kGiB});
  EXPECT_EQ(parse_bytes("80GB").value, Bytes{80e9});
  EXPECT_EQ(parse_bytes(" 1.5 KiB ").value, Bytes{1536});
  EXPECT_EQ(parse_bytes("0 B").value, Bytes{0});
  EXPECT_EQ(parse_bytes("1e3 kB").value, Bytes{1e6});
  EXPECT_EQ(parse_bytes("-1 GB").value, Bytes{-1e9});
}

TEST(Quantity, TellsBitsFromBytes) {
  EXPECT_EQ(parse_bytes_per_second("450 GB/s").value, BytesPerSecond{450e9});
  EXPECT_EQ(parse_bytes_per_second("200 Gbit/s").value, BytesPerSecond{25e9});
  EXPECT_EQ(parse_bytes_per_second("100 Gbps").value, BytesPerSecond{12.5e9});
  const auto ambiguous = parse_bytes_per_second("100 Gb/s");
  EXPECT_EQ(ambiguous.code, "spec.unknown-unit");
  EXPECT_EQ(ambiguous.hint, "write \"Gbit/s\" for bits or \"GB/s\" for bytes");
}

TEST(Quantity, ReadsTheOtherDimensions) {
  EXPECT_EQ(parse_seconds("3 us").value, Seconds{3e-6});
  EXPECT_EQ(parse_seconds("3 \xC2\xB5s").value, Seconds{3e-6});
  EXPECT_EQ(parse_seconds("12 h").value, Seconds{43200});
  EXPECT_EQ(parse_seconds("2 days").value, Seconds{172800});
  EXPECT_EQ(parse_flops("6.5 PFLOP").value, Flops{6.5e15});
  EXPECT_EQ(parse_flops_per_second("312 TFLOP/s").value, FlopsPerSecond{312e12});
  EXPECT_EQ(parse_flops_per_second("312 TFLOPS").value, FlopsPerSecond{312e12});
  EXPECT_EQ(parse_watts("0.4 kW").value, Watts{400});
  EXPECT_EQ(parse_usd("$1000").value, Usd{1000});
  EXPECT_EQ(parse_usd("$10k").value, Usd{10000});
  for (const char* text : {"$98.32/h", "US$98.32/h", "98.32 USD/h", "98.32 $/hour", "$ 98.32 / hr"})
    EXPECT_EQ(parse_usd_per_hour(text).value, UsdPerHour{98.32}) << text;
}

TEST(Quantity, RefusesABareNumber) {
  const auto bare = parse_bytes("80");
  EXPECT_FALSE(bare.value);
  EXPECT_EQ(bare.code, "spec.missing-unit");
  EXPECT_EQ(bare.reason, "\"80\" has no unit");
  EXPECT_EQ(bare.hint,
            "write it like \"80 GiB\"; known: B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB");
  EXPECT_EQ(parse_seconds("0").code, "spec.missing-unit");
}

TEST(Quantity, NamesTheKnownUnits) {
  EXPECT_EQ(parse_watts("3 kw").reason, "\"kw\" is not a unit known here");
  EXPECT_EQ(parse_watts("3 kw").hint, "did you mean \"kW\"? known: W, mW, kW, MW");
  EXPECT_EQ(parse_seconds("3 fortnights").code, "spec.unknown-unit");
  EXPECT_EQ(parse_bytes("$3").code, "spec.unknown-unit");
}

TEST(Quantity, RefusesWhatIsNoNumber) {
  for (const char* text :
       {"", "GiB", "inf GiB", "nan GiB", "+-1 GiB", "--1 GiB", "1e999 GiB", "1,000 GiB",
        "1.2.3 GiB", "1 000 GiB", "0x10 GiB", "1e308 PiB", "-", ".", "$"}) {
    const auto parsed = parse_bytes(text);
    EXPECT_FALSE(parsed.value) << text;
    EXPECT_TRUE(parsed.code == "spec.bad-quantity" || parsed.code == "spec.unknown-unit") << text;
  }
}

template <class Q>
void comes_back(double number) {
  if (!std::isfinite(number)) return;
  const std::string text = write_quantity(Q{number});
  const Parsed<Q> parsed = parse_quantity<Q>(text);
  RC_LOG() << text << " " << parsed.reason << std::endl;
  RC_ASSERT(parsed.value.has_value());
  RC_ASSERT(parsed.value->value == number);
}

RC_GTEST_PROP(Quantity, WhatIsWrittenIsRead, (double number)) {
  comes_back<Bytes>(number);
  comes_back<BytesPerSecond>(number);
  comes_back<Seconds>(number);
  comes_back<Flops>(number);
  comes_back<FlopsPerSecond>(number);
  comes_back<Watts>(number);
  comes_back<Usd>(number);
  comes_back<UsdPerHour>(number);
}

TEST(Quantity, IsWrittenShort) {
  EXPECT_EQ(write_quantity(Bytes{80 * kGiB}), "80 GiB");
  EXPECT_EQ(write_quantity(BytesPerSecond{450e9}), "450 GB/s");
  EXPECT_EQ(write_quantity(Seconds{3e-6}), "3 us");
  EXPECT_EQ(write_quantity(FlopsPerSecond{312e12}), "312 TFLOP/s");
  EXPECT_EQ(write_quantity(UsdPerHour{98.32}), "98.32 USD/h");
  EXPECT_EQ(write_quantity(Bytes{0}), "0 B");
}

template <class Q>
void example_is_read() {
  EXPECT_TRUE(parse_quantity<Q>(example_quantity<Q>()).value) << example_quantity<Q>();
}

TEST(Quantity, ExamplesAreRead) {
  example_is_read<Bytes>();
  example_is_read<BytesPerSecond>();
  example_is_read<Seconds>();
  example_is_read<Flops>();
  example_is_read<FlopsPerSecond>();
  example_is_read<Watts>();
  example_is_read<Usd>();
  example_is_read<UsdPerHour>();
}

}  // namespace
}  // namespace nereus::spec::quantity_test
