#include "stack/error_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "stack/stack_testing.hpp"

namespace nereus::cost::error_table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two kinds of software and devices; decoders on an A100 with "good" are predicted to 2 %.
constexpr const char* kTable = R"(quantity,kind,name,value,rows,groups,devices
step,scale,all,-3,,,
step,scale,unseen,3,,,
step,scale,mean,1.5,,,
step,scale,median,1,,,
step,quantile,q05,-3,,,
step,quantile,q10,-2,,,
step,quantile,q50,0.1,,,
step,quantile,q90,2.5,,,
step,quantile,q95,4,,,
step,effect,software:good,-0.912,30,6,
step,effect,device:H100,0.5,12,3,
step,runs,decoder|good|A100|16-bit,,20,,64
step,runs,decoder|other|H100|8-bit,,12,,8
memory,scale,all,-2,,,
memory,scale,unseen,2,,,
memory,quantile,q10,-1,,,
memory,quantile,q90,1,,,
memory,effect,fill:nearly full,-1,,,
memory,runs,decoder|good|A100|16-bit,,9,,64
fits,curve,center,0.05,,,
fits,curve,spread,0.04,,,
fits,failed,good,,,,
plan,feature,ZeRO-1,,,,
runs,source,lab,,,,
)";

Conditions like_runs() {
  Conditions c;
  c.family = "decoder";
  c.stack = "good";
  c.software = {"good"};
  c.devices = {"A100"};
  c.precision = "16-bit";
  c.size = "several nodes";
  c.fill = "half";
  c.num_devices = 64;
  c.features = {"ZeRO-1"};
  return c;
}

const ErrorTable& table() {
  static const ErrorTable kRead = parse_error_table(kTable, "test.csv");
  return kRead;
}

TEST(ErrorTable, EffectsOfTheConditionsAddUp) {
  const auto band = table().band(Quantity::kStep, like_runs());
  ASSERT_TRUE(band);
  const double s = std::exp(-3.912);  // 2 %
  EXPECT_NEAR(band->low(), -2 * s, 1e-12);
  EXPECT_NEAR(band->high(), 2.5 * s, 1e-12);
  EXPECT_NEAR(band->median_abs, s, 1e-12);
  EXPECT_EQ(band->rows, 20);
  EXPECT_EQ(band->basis, "decoder, good, A100, 16-bit");
  EXPECT_THAT(band->unseen, IsEmpty());
}

TEST(ErrorTable, WhatNoRunHasMakesTheIntervalWider) {
  const double seen = table().band(Quantity::kStep, like_runs())->high();
  const auto high_with = [&](auto change, const char* what) {
    Conditions c = like_runs();
    change(c);
    const auto band = table().band(Quantity::kStep, c);
    EXPECT_THAT(band->unseen, ElementsAre(what));
    return band->high();
  };
  const double quarter = std::sqrt(1 + 0.25 * 8) * seen;
  EXPECT_NEAR(high_with([](Conditions& c) { c.features = {"ZeRO-2"}; }, "ZeRO-2"), quarter, 1e-12);
  EXPECT_NEAR(high_with([](Conditions& c) { c.num_devices = 129; }, "more than 64 devices"),
              quarter, 1e-12);
  EXPECT_NEAR(high_with([](Conditions& c) { c.precision = "8-bit"; }, "8-bit"), quarter, 1e-12);
  EXPECT_NEAR(high_with(
                  [](Conditions& c) {
                    c.software = {"fork", "good"};
                  },
                  "fork"),
              quarter, 1e-12);
  EXPECT_NEAR(high_with(
                  [](Conditions& c) {
                    c.devices = {"A800", "A100"};
                  },
                  "A800"),
              quarter, 1e-12);
  EXPECT_NEAR(high_with([](Conditions& c) { c.family = "CNN"; }, "CNN"), 3 * seen, 1e-12);
  EXPECT_NEAR(high_with([](Conditions& c) { c.devices = {"T4"}; }, "T4"), 3 * seen, 1e-12);
}

TEST(ErrorTable, KnowsNothingWithoutARunOfTheDeviceOrTheSoftware) {
  Conditions c = like_runs();
  c.devices = {"T4"};
  EXPECT_TRUE(table().band(Quantity::kStep, c));
  c.software = {"unheard"};
  EXPECT_FALSE(table().band(Quantity::kStep, c));
  EXPECT_FALSE(table().band(Quantity::kMemory, c));
  EXPECT_FALSE(table().fits_probability(c, 1, 2));
  EXPECT_FALSE(table().headroom_for(c, 0.95));
  c = like_runs();
  c.software = {};  // a limit of the hardware
  EXPECT_FALSE(table().band(Quantity::kStep, c));
  EXPECT_FALSE(ErrorTable{}.band(Quantity::kStep, like_runs()));
}

TEST(ErrorTable, HeadroomIsWhereThePlanFitsWithThatProbability) {
  for (const double probability : {0.5, 0.9, 0.95}) {
    const double headroom = *table().headroom_for(like_runs(), probability);
    EXPECT_NEAR(*table().fits_probability(like_runs(), 80 * (1 - headroom), 80), probability, 1e-9);
  }
  EXPECT_GT(*table().fits_probability(like_runs(), 40, 80), 0.999);
  EXPECT_LT(*table().fits_probability(like_runs(), 100, 80), 0.01);
  // No run of the other software failed.
  Conditions other = like_runs();
  other.software = {"other"};
  EXPECT_GT(*table().headroom_for(other, 0.95), *table().headroom_for(like_runs(), 0.95));
}

TEST(ErrorTable, ComesBackFromItsText) {
  EXPECT_EQ(parse_error_table(write_error_table(table()), "again.csv"), table());
}

TEST(ErrorTable, SaysWhatIsWrongWithAText) {
  const std::string head = "quantity,kind,name,value,rows,groups,devices\n";
  for (const char* line : {"speed,effect,a,1,,,\n", "step,effect,a,much,,,\n",
                           "step,effect,a,1,-3,,\n", "step,quantile,q99,1,,,\n"})
    EXPECT_THROW(parse_error_table(head + line, "bad.csv"), Errors) << line;
}

TEST(ErrorTable, MergedSoftwareIsKnownBesideTheOld) {
  ErrorTable both = table();
  both.merge(
      parse_error_table("quantity,kind,name,value,rows,groups,devices\n"
                        "step,effect,stack:mine,0.25,7,2,\n"
                        "step,runs,decoder|mine|A100|16-bit,,7,,16\n",
                        "mine.csv"));
  Conditions c = like_runs();
  c.stack = "mine";
  c.software = {"mine", "good"};
  c.num_devices = 16;
  const auto band = both.band(Quantity::kStep, c);
  ASSERT_TRUE(band);
  EXPECT_THAT(band->unseen, IsEmpty());
  EXPECT_EQ(band->rows, 7);
  EXPECT_NEAR(band->high(), 2.5 * std::exp(-3 + 0.25), 1e-12);
  EXPECT_EQ(both.band(Quantity::kStep, like_runs()), table().band(Quantity::kStep, like_runs()));
}

TEST(SoftwareOf, ReleasesAndVariantsCountAsTheirParent) {
  const StackLibrary library = testing::library_of(R"(
[stack.root]
[stack.engine]
inherits = "root"
[stack.engine.releases]
"25.01" = "engine-25"
[stack.engine-25]
inherits = "engine"
[stack.fork]
inherits = "engine-25"
[stack.bound]
inherits = "root"
limit = true
)");
  EXPECT_THAT(library.software_of("engine-25"), ElementsAre("engine"));
  EXPECT_THAT(library.software_of("fork"), ElementsAre("fork", "engine"));
  EXPECT_THAT(library.software_of("root"), ElementsAre("root"));
  EXPECT_THAT(library.software_of("bound"), IsEmpty());
  EXPECT_EQ(library.resolve("fork").software, library.software_of("fork"));
}

}  // namespace
}  // namespace nereus::cost::error_table_test
