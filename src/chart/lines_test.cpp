#include "chart/lines.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "chart/chart_testing.hpp"

namespace nereus::chart::lines_test {
namespace {

using testing::count_of;
using testing::has;
using testing::xml_fault;

std::string line_path(const std::string& svg, int series) {
  const std::string key = "<path class=\"l" + std::to_string(series) + " stroke\" d=\"";
  const std::size_t at = svg.rfind(key) + key.size();  // the first is in the legend
  return svg.substr(at, svg.find('"', at) - at);
}

TEST(Lines, BreakWhereThereIsNoValue) {
  const Lines lines{.title = "sweep",
                    .x = {.title = "bandwidth", .unit = Unit::kBytesPerSecond},
                    .y = {.title = "step", .unit = Unit::kSeconds},
                    .series = {{"a", {{4e9, 1}, {1e9, 4}, {2e9, 2}, {3e9, NAN}}},
                               {"b", {{1e9, 3}, {2e9, 3}, {3e9, 3}}}}};
  const std::string svg = svg_of(lines, "fig4");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(count_of(line_path(svg, 0), "M"), 2u);
  EXPECT_EQ(count_of(line_path(svg, 0), "L"), 1u);
  EXPECT_EQ(count_of(line_path(svg, 1), "M"), 1u);
  EXPECT_EQ(count_of(svg, " cross\""), 1u);
  EXPECT_TRUE(has(svg, "<title>a, 3.00 GB/s: does not fit</title>"));
  EXPECT_TRUE(has(svg, "<title>b, 2.00 GB/s: 3.00 s</title>"));
  EXPECT_TRUE(has(svg, ">\u00d7 does not fit<"));
}

TEST(Lines, RiseWhereValuesRise) {
  const Lines lines{.title = "", .x = {}, .y = {}, .series = {{"a", {{0, 0}, {1, 1}, {2, 4}}}}};
  const std::string svg = svg_of(lines, "x");
  const std::vector<double> ys = testing::numbers_of(svg, " cy=\"");
  ASSERT_EQ(ys.size(), 4u);  // the legend's first
  EXPECT_NEAR((ys[1] - ys[3]) / (ys[1] - ys[2]), 4, 0.01);
}

TEST(Lines, CategoriesHaveNames) {
  const Lines lines{.title = "",
                    .categories = {"network latency", "peak"},
                    .series = {{"", {{0, 1}, {1, 2}, {2, 3}, {-1, 3}}}}};
  const std::string svg = svg_of(lines, "x");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(has(svg, ">network latency<"));
  EXPECT_EQ(count_of(svg, "<circle"), 2u);  // there is no third category, and no legend
}

TEST(Lines, NinthSeriesIsDashed) {
  Lines lines{.title = ""};
  for (int i = 0; i < 9; ++i)
    lines.series.push_back({"s" + std::to_string(i), {{0, 1.0 * i}, {1, 2}}});
  EXPECT_EQ(count_of(svg_of(lines, "x"), " dashed stroke\""), 2u);  // one, and in the legend
}

TEST(Lines, OfNothingSaysSo) {
  EXPECT_TRUE(has(svg_of(Lines{.title = "t"}, "x"), "There is nothing to show."));
  const Lines gaps{.title = "t", .series = {{"a", {{1, NAN}}}}};
  EXPECT_TRUE(has(svg_of(gaps, "x"), "No point has a value: does not fit."));
}

RC_GTEST_PROP(Lines, AnyInputIsAPicture, ()) {
  Lines lines{
      .title = testing::any_text(),
      .x = {.title = testing::any_text(), .log = *rc::gen::arbitrary<bool>()},
      .y = {.title = testing::any_text(), .unit = Unit::kUsd, .log = *rc::gen::arbitrary<bool>()},
      .gap_reason = testing::any_text()};
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) lines.categories.push_back(testing::any_text());
  for (int s = *rc::gen::inRange(0, 11); s > 0; --s) {
    lines.series.push_back({testing::any_text(), {}});
    for (int i = *rc::gen::inRange(0, 6); i > 0; --i)
      lines.series.back().points.push_back({testing::any_number(), testing::any_number()});
  }
  const std::string svg = svg_of(lines, "x");
  RC_ASSERT(xml_fault(svg) == "");
  RC_ASSERT(testing::numbers_are_finite(svg));
  for (const double x : testing::numbers_of(svg, "<text x=\"")) RC_ASSERT(x >= 0 && x <= 860);
}

}  // namespace
}  // namespace nereus::chart::lines_test
