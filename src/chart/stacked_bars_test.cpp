#include "chart/stacked_bars.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "chart/chart_testing.hpp"

namespace nereus::chart::stacked_bars_test {
namespace {

using testing::count_of;
using testing::has;
using testing::xml_fault;

TEST(StackedBars, LengthsAreInProportion) {
  const StackedBars bars{.title = "step",
                         .parts = {"compute", "tensor parallel"},
                         .bars = {{"one", {3, 1}}, {"two", {6, 2}}}};
  const std::string svg = svg_of(bars, "fig2");
  EXPECT_EQ(xml_fault(svg), "");
  for (const char* text : {">one<", ">compute<", ">4.00 s<", ">8.00 s<",
                           "<title>two, tensor parallel: 2.00 s (25.0 %)</title>"})
    EXPECT_TRUE(has(svg, text)) << text;
  std::vector<double> widths = testing::numbers_of(svg, "\" width=\"");
  widths.erase(widths.begin(), widths.begin() + 4);  // picture, paper, legend
  ASSERT_EQ(widths.size(), 4u);
  EXPECT_NEAR((widths[0] + 1) / (widths[1] + 1), 3, 0.02);  // a gap of a pixel after each
  EXPECT_NEAR((widths[2] + 1) / (widths[0] + 1), 2, 0.02);
}

TEST(StackedBars, SaysWhatDoesNotFit) {
  const StackedBars bars{.title = "step",
                         .parts = {"compute"},
                         .bars = {{"one", {3}, "does not fit: 93 GiB of 80 GiB"},
                                  {"two", {}, "does not fit at all"},
                                  {"three", {NAN}},
                                  {"four", {1}}}};
  const std::string svg = svg_of(bars, "fig2");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(has(svg, ">does not fit: 93 GiB of 80 GiB<"));
  EXPECT_TRUE(has(svg, ">does not fit at all<"));
  EXPECT_TRUE(has(svg, ">no value<"));
  EXPECT_EQ(count_of(svg, "class=\"hatch0\""), 1u);
}

TEST(StackedBars, MoreThanEightPartsAreHatched) {
  StackedBars bars{.title = "", .parts = {}, .bars = {{"a", std::vector<double>(10, 1.0)}}};
  for (int i = 0; i < 10; ++i) bars.parts.push_back("part " + std::to_string(i));
  EXPECT_EQ(count_of(svg_of(bars, "x"), "class=\"hatch4\""), 4u);  // two, and in the legend
}

TEST(StackedBars, OfNothingSaysSo) {
  EXPECT_TRUE(has(svg_of(StackedBars{.title = "t"}, "x"), "There are no bars to show."));
  const std::string svg =
      svg_of(StackedBars{.title = "t", .parts = {"p"}, .bars = {{"b", {0}}}}, "x");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(has(svg, ">no value<"));
}

RC_GTEST_PROP(StackedBars, AnyInputIsAPictureAndTextsHaveRoom, ()) {
  StackedBars bars{.title = testing::any_text()};
  const int parts = *rc::gen::inRange(0, 12), rows = *rc::gen::inRange(0, 6);
  for (int i = 0; i < parts; ++i) bars.parts.push_back(testing::any_text());
  for (int r = 0; r < rows; ++r) {
    Bar bar{testing::any_text(), {}, *rc::gen::arbitrary<bool>() ? testing::any_text() : ""};
    for (int i = *rc::gen::inRange(0, parts + 2); i > 0; --i)
      bar.parts.push_back(testing::any_number());
    bars.bars.push_back(bar);
  }
  const std::string svg = svg_of(bars, "x");
  RC_ASSERT(xml_fault(svg) == "");
  RC_ASSERT(testing::numbers_are_finite(svg));
  for (const double x : testing::numbers_of(svg, "<text x=\"")) RC_ASSERT(x >= 0 && x <= 850);
}

}  // namespace
}  // namespace nereus::chart::stacked_bars_test
