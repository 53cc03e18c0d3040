#include "hard_cases.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "chart/heat_map.hpp"
#include "chart/lines.hpp"
#include "chart/scatter.hpp"
#include "chart/stacked_bars.hpp"

namespace nereus::chart {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Cases {
 public:
  explicit Cases(int seed) : random_(static_cast<std::uint64_t>(seed)) {}

  HeatMap heat_map() {
    HeatMap map{.title = name(),
                .rows = names(1 + below(many() ? 70 : 6)),
                .columns = names(1 + below(many() ? 40 : 6)),
                .cells = {},
                .unit = unit(),
                .log = yes(),
                .lower_is_better = yes(),
                .row_title = yes() ? name() : "",
                .column_title = yes() ? name() : "",
                .value_title = yes() ? name() : ""};
    for (std::size_t r = 0; r < map.rows.size(); ++r) {
      map.cells.emplace_back();
      for (std::size_t c = 0; c < map.columns.size(); ++c)
        map.cells.back().push_back(below(5) == 0 ? HeatCell{.reason = name()}
                                                 : HeatCell{.value = number()});
    }
    return map;
  }

  StackedBars stacked_bars() {
    StackedBars bars{.title = name(),
                     .parts = names(1 + below(14)),
                     .bars = {},
                     .unit = unit(),
                     .axis_title = yes() ? name() : ""};
    for (const std::string& bar : names(1 + below(9))) {
      bars.bars.push_back({bar, {}, below(3) == 0 ? name() : ""});
      for (std::size_t i = 0; i < bars.parts.size() && below(12) != 0; ++i)
        bars.bars.back().parts.push_back(number());
    }
    return bars;
  }

  Scatter scatter() {
    Scatter scatter{.title = name(), .x = axis(), .y = axis(), .points = {}};
    const std::size_t count = 1 + below(many() ? 3000 : 40);
    for (std::size_t i = 0; i < count; ++i)
      scatter.points.push_back({number(), number(), yes() ? name() : "", below(8) == 0});
    return scatter;
  }

  Lines lines() {
    Lines lines{.title = name(),
                .x = axis(),
                .y = axis(),
                .categories = {},
                .series = {},
                .gap_reason = name()};
    const std::size_t length = 1 + below(many() ? 90 : 9);
    if (yes()) lines.categories = names(length);
    for (const std::string& series : names(1 + below(12))) {
      lines.series.push_back({series, {}});
      for (std::size_t i = 0; i < length; ++i)
        lines.series.back().points.push_back(
            {lines.categories.empty() ? number() : static_cast<double>(i),
             below(6) == 0 ? kNan : number()});
    }
    return lines;
  }

 private:
  std::size_t below(std::uint64_t bound) { return random_.below(bound); }
  bool yes() { return below(2) == 0; }
  bool many() { return below(3) == 0; }

  // Over eighteen decades in some pictures' values, over one in others'.
  double number() {
    if (spread_ < 0) spread_ = yes() ? 1 : 18;
    return std::pow(10.0, spread_ * (random_.uniform() - 0.5));
  }
  Unit unit() {
    constexpr Unit kUnits[] = {Unit::kNone,  Unit::kCount,          Unit::kParameters,
                               Unit::kBytes, Unit::kBytesPerSecond, Unit::kSeconds,
                               Unit::kUsd,   Unit::kUsdPerHour,     Unit::kShare};
    return kUnits[below(std::size(kUnits))];
  }
  Axis axis() {
    return {.title = name(),
            .unit = unit(),
            .log = yes(),
            .from_zero = yes(),
            .lower_is_better = yes()};
  }
  std::string name() {
    constexpr const char* kWords[] = {
        "tp",           "8",
        "WWWWWW",       "llama3-70b",
        "of",           "<&>\"'",
        "iii",          "\u00d7",
        "\u4e2d\u6587", "micro-batch",
        "\u0416\u0416", "a-word-that-is-much-longer-than-any-other-word-of-them"};
    std::string text = kWords[below(std::size(kWords))];
    for (std::size_t more = below(many() ? 12 : 3); more > 0; --more)
      text += std::string(" ") + kWords[below(std::size(kWords))];
    return text;
  }
  std::vector<std::string> names(std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(name());
    return all;
  }

  Random random_;
  double spread_ = -1;  // decades
};

}  // namespace

std::vector<PagePicture> hard_cases(int seed) {
  const auto id = [&](const char* kind) { return fmt::format("hard-{}-{}", kind, seed); };
  return {{svg_of(Cases(seed).heat_map(), id("heat")), ""},
          {svg_of(Cases(seed).stacked_bars(), id("bars")), ""},
          {svg_of(Cases(seed).scatter(), id("scatter")), ""},
          {svg_of(Cases(seed).lines(), id("lines")), ""}};
}

}  // namespace nereus::chart
