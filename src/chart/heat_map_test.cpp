#include "chart/heat_map.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "chart/chart_testing.hpp"

namespace nereus::chart::heat_map_test {
namespace {

using testing::count_of;
using testing::has;
using testing::xml_fault;

HeatMap small() {
  return {.title = "step time",
          .rows = {"tp 1", "tp 2", "tp 4"},
          .columns = {"a100", "h100"},
          .cells = {{{.value = 1.0}, {.reason = "does not fit"}},
                    {{.value = 2.0}, {.value = 0.5, .note = "dp 4"}},
                    {{.value = 4.0}, {.value = 4.0}}},
          .unit = Unit::kSeconds,
          .log = true};
}

TEST(HeatMap, ShowsValuesReasonsAndTheBest) {
  const std::string svg = svg_of(small(), "fig1");
  EXPECT_EQ(xml_fault(svg), "");
  for (const char* text :
       {">tp 1<", ">h100<", ">500 ms<", "<title>tp 2, h100: 500 ms, dp 4</title>",
        "<title>tp 1, h100: does not fit</title>", ">does not fit<", ">best of its column<",
        "lower is better", "id=\"fig1\""})
    EXPECT_TRUE(has(svg, text)) << text;
  EXPECT_EQ(count_of(svg, "class=\"best\" x="), 3u);  // two columns and the legend
  // The best value has the strongest colour, the worst the weakest.
  EXPECT_TRUE(has(svg, "class=\"t15\">500 ms<"));
  EXPECT_TRUE(has(svg, "class=\"t0\">4.00 s<"));
}

TEST(HeatMap, BestIsTheHighestWhereThatIsBetter) {
  HeatMap map = small();
  map.lower_is_better = false;
  const std::string svg = svg_of(map, "fig1");
  EXPECT_TRUE(has(svg, "class=\"t15\">4.00 s<"));
  EXPECT_TRUE(has(svg, "higher is better"));
}

TEST(HeatMap, LinearAndLogarithmicScalesDiffer) {
  HeatMap map{.title = "",
              .rows = {"r"},
              .columns = {"a", "b", "c"},
              .cells = {{{.value = 1}, {.value = 10}, {.value = 100}}}};
  map.log = true;
  EXPECT_TRUE(has(svg_of(map, "x"), "class=\"t8\">10<") ||
              has(svg_of(map, "x"), "class=\"t7\">10<"));
  map.log = false;
  EXPECT_TRUE(has(svg_of(map, "x"), "class=\"t14\">10<"));
}

TEST(HeatMap, MissingCellsAreHatched) {
  HeatMap map = small();
  map.cells = {{{.value = NAN}}, {{.value = -1}, {.value = INFINITY, .reason = "too far"}}};
  const std::string svg = svg_of(map, "fig1");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(count_of(svg, "class=\"hatch0\" x="), 6u);  // no value: five cells and the legend
  EXPECT_EQ(count_of(svg, "class=\"hatch1\" x="), 2u);
  EXPECT_TRUE(has(svg, ">too far<"));
  EXPECT_FALSE(has(svg, "best of its column"));
}

TEST(HeatMap, OfNothingSaysSo) {
  const std::string svg = svg_of(HeatMap{.title = "t"}, "fig1");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(has(svg, "There is nothing to show."));
}

TEST(HeatMap, ManyCellsStayASmallFile) {
  HeatMap map{.title = "big"};
  for (int i = 0; i < 200; ++i) {
    map.rows.push_back("row " + std::to_string(i));
    map.columns.push_back("column " + std::to_string(i));
    map.cells.emplace_back();
    for (int j = 0; j < 200; ++j)
      map.cells.back().push_back({.value = std::sin(0.05 * i) + std::cos(0.07 * j)});
  }
  const std::string svg = svg_of(map, "big");
  EXPECT_EQ(count_of(svg, "z\"/>"), 16u);  // a path a level
  EXPECT_EQ(count_of(svg, "zM"), 200u * 200 - 16);
  EXPECT_LT(svg.size(), 1'500'000u);
}

RC_GTEST_PROP(HeatMap, AnyInputIsAPicture, ()) {
  HeatMap map{.title = testing::any_text(),
              .unit = *rc::gen::element(Unit::kNone, Unit::kSeconds, Unit::kCount),
              .log = *rc::gen::arbitrary<bool>(),
              .lower_is_better = *rc::gen::arbitrary<bool>(),
              .row_title = testing::any_text(),
              .column_title = testing::any_text(),
              .value_title = testing::any_text()};
  const int rows = *rc::gen::inRange(0, 5), columns = *rc::gen::inRange(0, 5);
  for (int c = 0; c < columns; ++c) map.columns.push_back(testing::any_text());
  for (int r = 0; r < rows; ++r) {
    map.rows.push_back(testing::any_text());
    map.cells.emplace_back();
    for (int c = 0; c < columns; ++c)
      map.cells.back().push_back({testing::any_number(), testing::any_text(), testing::any_text()});
  }
  const std::string svg = svg_of(map, testing::any_text());
  RC_ASSERT(xml_fault(svg) == "");
  RC_ASSERT(testing::numbers_are_finite(svg));
  RC_ASSERT(svg == svg_of(map, svg.substr(svg.find("id=\"") + 4,
                                          svg.find("\" role") - svg.find("id=\"") - 4)));
}

}  // namespace
}  // namespace nereus::chart::heat_map_test
