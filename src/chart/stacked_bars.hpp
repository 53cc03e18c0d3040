// Horizontal bars of parts, e.g. the parts of each plan's step time, with the total at the end.
//
// A bar that is not feasible (its plan does not fit into memory) is hatched, with the reason after
// its total. Parts that are not finite or are negative count as zero. From the ninth part on,
// colors repeat with hatching. The scale is the largest one at which every bar and the text after
// it fit.
//
//   StackedBars bars{.title = "step time", .parts = {"compute", "exposed tp"},
//                    .bars = {{"tp 2", {1.2, 0.3}}, {"tp 1", {1.3, 0}, "does not fit"}}};
//   std::string svg = svg_of(bars, "fig2");
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/format.hpp"

namespace nereus::chart {

struct Bar {
  std::string name;
  std::vector<double> parts;  // one per name in StackedBars::parts; missing ones are 0
  std::string misfit = {};    // why it is not feasible; empty if it is
  bool operator==(const Bar&) const = default;
};

struct StackedBars {
  std::string title;
  std::vector<std::string> parts;
  std::vector<Bar> bars;
  Unit unit = Unit::kSeconds;
  std::string axis_title = {};
  bool operator==(const StackedBars&) const = default;
};

std::string svg_of(const StackedBars& bars, std::string_view id);

}  // namespace nereus::chart
