#include "app/train/train_background.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nereus::app::train_background_test {
namespace {

TEST(Background, IsReadFromOneWord) {
  const BackgroundRequest plain = parse_background("bg.plan.json");
  EXPECT_EQ(plain.plan_file, "bg.plan.json");
  EXPECT_EQ(plain.data, "synthetic");
  EXPECT_EQ(plain.steps, 0);
  const BackgroundRequest full = parse_background(
      "bg.plan,data=text.tokens,steps=70,seed=3,rate=1e-3,norm-group=2,threads=1,checkpoint=run,"
      "resume=old");
  EXPECT_EQ(full.data, "text.tokens");
  EXPECT_EQ(full.steps, 70);
  EXPECT_EQ(full.seed, 3U);
  EXPECT_EQ(full.rate, 1e-3);
  EXPECT_EQ(full.norm_group, 2);
  EXPECT_EQ(full.threads, 1);
  EXPECT_EQ(full.checkpoint.folder, "run");
  EXPECT_EQ(full.checkpoint.resume, "old");
}

TEST(Background, SaysAllThatIsWrongWithAWord) {
  for (const char* text :
       {"", ",steps=1", "p,steps=0", "p,steps=1x", "p,seed=-1", "p,data=", "p,,"})
    EXPECT_THROW(parse_background(text), Errors) << text;
  try {
    parse_background("p,steps=none,colour=red");
    FAIL();
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().size(), 2U);
  }
}

TEST(Slowdown, IsAShareOrPercent) {
  EXPECT_DOUBLE_EQ(parse_slowdown("5%"), 0.05);
  EXPECT_DOUBLE_EQ(parse_slowdown("0.2"), 0.2);
  EXPECT_DOUBLE_EQ(parse_slowdown("300%"), 3);
  EXPECT_DOUBLE_EQ(parse_slowdown("1"), 1);
  EXPECT_DOUBLE_EQ(parse_slowdown("1000%"), 10);
  for (const char* text : {"", "%", "0", "-5%", "2000%", "2000", "five", "nan", "inf", "5 %"})
    EXPECT_THROW(parse_slowdown(text), Errors) << text;
}

TEST(Slowdown, ANumberAboveOneIsTakenForPercent) {
  for (const char* text : {"5", "1.5", "100"}) try {
      parse_slowdown(text);
      FAIL() << text;
    } catch (const Errors& errors) {
      EXPECT_EQ(errors.list().front().hint, fmt::format("--slowdown {}%", text));
    }
}

}  // namespace
}  // namespace nereus::app::train_background_test
