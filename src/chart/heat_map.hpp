// A table as colors: rows and columns of values, with the best value of each column outlined.
//
// The better a value, the more its color differs from the paper (chart/colours.hpp), in light and
// dark mode. Cells without a value (not a number, or not positive on a logarithmic scale) are
// hatched, with another pattern for each reason; the legend lists the reasons. After the first
// three reasons, the fourth pattern stands for all others. Values are written into cells if there
// is space. With more than 2,500 cells there are only colors, without text and tooltips.
//
//   HeatMap map{.title = "step time", .rows = {"tp 1", "tp 2"}, .columns = {"a100", "h100"},
//               .cells = {{{1.2}, {0.7}}, {{.reason = "does not fit"}, {0.8}}},
//               .unit = Unit::kSeconds};
//   std::string svg = svg_of(map, "fig1");
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.hpp"

namespace nereus::chart {

struct HeatCell {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::string reason = {};  // why there is no value
  std::string note = {};    // added to the tooltip
};

struct HeatMap {
  std::string title;
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<std::vector<HeatCell>> cells;  // by row; missing ones have no value
  Unit unit = Unit::kNone;
  bool log = false;
  bool lower_is_better = true;
  std::string row_title = {};
  std::string column_title = {};
  std::string value_title = {};
};

std::string svg_of(const HeatMap& map, std::string_view id);

}  // namespace nereus::chart
