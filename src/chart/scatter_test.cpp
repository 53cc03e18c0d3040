#include "chart/scatter.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "chart/chart_testing.hpp"

namespace nereus::chart::scatter_test {
namespace {

using testing::count_of;
using testing::has;
using testing::xml_fault;

std::string front_path(const std::string& svg) {
  const std::string key = "<path class=\"front\" d=\"";
  const std::size_t at = svg.find(key) + key.size();
  return svg.substr(at, svg.find('"', at) - at);
}

Scatter small() {
  return {.title = "cost against time",
          .x = {.title = "time", .unit = Unit::kSeconds},
          .y = {.title = "cost", .unit = Unit::kUsd},
          .points = {{3, 10, "c", true}, {1, 30, "a", true}, {2, 20, "b", true}, {2.5, 25, "d"}}};
}

TEST(Scatter, JoinsTheFrontBySteps) {
  Scatter scatter = small();
  const std::string svg = svg_of(scatter, "fig3");
  EXPECT_EQ(xml_fault(svg), "");
  for (const char* text : {">a<", ">b<", ">c<", "<title>d: 2.50 s, $25.00</title>",
                           ">Pareto front (3)<", ">other points (1)<", ">time (lower is better)<"})
    EXPECT_TRUE(has(svg, text)) << text;
  EXPECT_FALSE(has(svg, ">d<"));
  // Along x first: until the next point nothing cheaper is as fast.
  const std::string path = front_path(svg);
  EXPECT_EQ(count_of(path, "M"), 1u);
  EXPECT_EQ(count_of(path, "H"), 2u);
  EXPECT_LT(path.find('H'), path.find('V'));
  scatter.x.lower_is_better = false;
  const std::string other = front_path(svg_of(scatter, "fig3"));
  EXPECT_LT(other.find('V'), other.find('H'));
}

TEST(Scatter, PointsWithoutAPlaceAreCounted) {
  Scatter scatter = small();
  scatter.x.log = true;
  scatter.points.push_back({-1, 10});
  scatter.points.push_back({NAN, 10, "x", true});
  scatter.points.push_back({1, INFINITY});
  EXPECT_TRUE(has(svg_of(scatter, "x"), ">3 points have no value to show.<"));
}

TEST(Scatter, OfNothingSaysSo) {
  EXPECT_TRUE(has(svg_of(Scatter{.title = "t"}, "x"), "There are no points to show."));
  const std::string svg = svg_of(Scatter{.title = "t", .points = {{NAN, NAN}}}, "x");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(has(svg, "None of the points has a value to show."));
}

// The squares hold every point: shades by count, and no square for a place without points.
TEST(Scatter, ManyPointsStayASmallFile) {
  Scatter scatter{.title = "many", .x = {.title = "x"}, .y = {.title = "y"}};
  Random random(3);
  for (int i = 0; i < 100'000; ++i) scatter.points.push_back({random.uniform(), random.uniform()});
  const std::string svg = svg_of(scatter, "many");
  EXPECT_LT(svg.size(), 200'000u);
  EXPECT_TRUE(has(svg, "The 100,000 points off the front are drawn as squares"));
  EXPECT_EQ(count_of(svg, "<circle class=\"dot\""), 1u);  // in the legend
  scatter.points.assign(2000, {0.25, 0.75});
  scatter.points.push_back({0.75, 0.25});
  const std::string two = svg_of(scatter, "many");
  EXPECT_EQ(count_of(two, "<path class=\"square d3\""), 1u);
  EXPECT_EQ(count_of(two, "<path class=\"square d0\""), 1u);
  EXPECT_EQ(count_of(two, "h4"), 2u);
}

TEST(Scatter, LongFrontsAreThinnedAndLabelledWhereThereIsRoom) {
  Scatter scatter = small();
  scatter.points.clear();
  for (int i = 1; i <= 20'000; ++i)
    scatter.points.push_back({1.0 * i, 1e4 / i, "plan " + std::to_string(i), true});
  scatter.x.log = scatter.y.log = true;
  const std::string svg = svg_of(scatter, "x");
  EXPECT_LT(svg.size(), 100'000u);
  EXPECT_TRUE(has(svg, "of the 20,000 front points are drawn"));
  EXPECT_TRUE(has(svg, ">plan 1<"));  // ends come first
  EXPECT_LE(count_of(svg, "class=\"halo\""), 16u);
}

RC_GTEST_PROP(Scatter, AnyInputIsAPicture, ()) {
  Scatter scatter{.title = testing::any_text(),
                  .x = {.title = testing::any_text(),
                        .unit = Unit::kSeconds,
                        .log = *rc::gen::arbitrary<bool>(),
                        .lower_is_better = *rc::gen::arbitrary<bool>()},
                  .y = {.title = testing::any_text(),
                        .log = *rc::gen::arbitrary<bool>(),
                        .lower_is_better = *rc::gen::arbitrary<bool>()}};
  for (int i = *rc::gen::inRange(0, 30); i > 0; --i)
    scatter.points.push_back({testing::any_number(), testing::any_number(), testing::any_text(),
                              *rc::gen::arbitrary<bool>()});
  const std::string svg = svg_of(scatter, "x");
  RC_ASSERT(xml_fault(svg) == "");
  RC_ASSERT(testing::numbers_are_finite(svg));
  for (const char* key : {" cx=\"", "<text x=\""})
    for (const double x : testing::numbers_of(svg, key)) RC_ASSERT(x >= 0 && x <= 860);
}

}  // namespace
}  // namespace nereus::chart::scatter_test
