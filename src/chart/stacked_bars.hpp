// Horizontal bars of parts, e.g. where the time of each plan's step goes; the total at the end.
//
// A bar that cannot be had (its plan does not fit into memory) is hatched and says why after its
// total. Parts that are not finite or negative count as nothing. From the ninth part on colours
// come again, hatched. The scale is the largest with which every bar and the text behind it have
// room.
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
  std::vector<double> parts;  // one a name of StackedBars::parts; missing ones are 0
  std::string misfit = {};    // why it cannot be had; empty where it can
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
