// Writes a page with every kind of picture, in easy and in hard cases, and the pictures alone.
// tests/long/report.sh opens them in a browser. The figures come from simple formulas and mean
// nothing. sample.html has pictures like those of a report, hard.html random ones.
//
//   chart_sample DIRECTORY [SEEDS]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/write_file.hpp"
#include "chart/heat_map.hpp"
#include "chart/lines.hpp"
#include "chart/page.hpp"
#include "chart/scatter.hpp"
#include "chart/stacked_bars.hpp"
#include "hard_cases.hpp"

namespace nereus::chart {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Seconds of a step with so many devices, split tp ways, over a link of so many bytes a second.
double step_time(double devices, double tp, double link) {
  return 900 / devices + 0.02 * tp + 40e9 * (1 - 1 / tp) / link + 2.5 / tp;
}

HeatMap heat_map() {
  HeatMap map{.title = "Step time by cluster and split",
              .rows = {},
              .columns = {},
              .cells = {},
              .unit = Unit::kSeconds,
              .log = true,
              .row_title = "tensor parallel degree",
              .column_title = "devices",
              .value_title = "step time"};
  const std::vector<int> devices = {64, 128, 256, 512, 1024, 2048};
  for (const int d : devices) map.columns.push_back(fmt::format("{} H100", d));
  for (const int tp : {1, 2, 4, 8, 16}) {
    map.rows.push_back(fmt::format("tp {}", tp));
    map.cells.emplace_back();
    for (const int d : devices) {
      HeatCell cell;
      if (d * tp < 256)
        cell.reason = "does not fit in memory";
      else if (d / tp > 1000)
        cell.reason = "more replicas than samples";
      else
        cell = {.value = step_time(d, tp, 400e9), .note = fmt::format("{} replicas", d / tp)};
      map.cells.back().push_back(cell);
    }
  }
  return map;
}

// Many long names, shares, more reasons than there are hatchings.
HeatMap wide_heat_map() {
  HeatMap map{.title =
                  "Model FLOPs utilisation of every model on every cluster of the catalogue, "
                  "with the plan that is best for each of them at a global batch of 1,024",
              .rows = {},
              .columns = {},
              .cells = {},
              .unit = Unit::kShare,
              .lower_is_better = false};
  for (int c = 0; c < 18; ++c)
    map.columns.push_back(fmt::format("{} x a-cluster-with-a-long-name-{}", 1 << (c % 8), c));
  for (int r = 0; r < 12; ++r) {
    map.rows.push_back(
        fmt::format("model {} <with> a \"name\" & more of it than there is room", r));
    map.cells.emplace_back();
    for (int c = 0; c < 18; ++c) {
      HeatCell cell{.value = 0.25 + 0.02 * r + 0.15 * std::sin(0.4 * c + 0.3 * r)};
      if ((r * 7 + c * 5) % 11 == 0)
        cell = {.reason = fmt::format("reason number {}", (r + c) % 6)};
      map.cells.back().push_back(cell);
    }
  }
  return map;
}

StackedBars stacked_bars() {
  return {.title = "Where the time of a step goes",
          .parts = {"compute", "tensor parallel", "pipeline bubble", "data parallel", "optimizer",
                    "host"},
          .bars = {{"tp 8, pp 1, dp 64, full recomputation", {2.31, 0.62, 0, 0.31, 0.07, 0.02}},
                   {"tp 4, pp 2, dp 64", {2.29, 0.35, 0.21, 0.28, 0.07, 0.02}},
                   {"tp 2, pp 8, dp 32", {2.28, 0.12, 0.74, 0.14, 0.03, 0.02}},
                   {"tp 1, pp 4, dp 128",
                    {2.27, 0, 0.36, 0.52, 0.13, 0.02},
                    "does not fit: 93.1 GiB of 80 GiB"},
                   {"tp 1, pp 1, dp 512", {}, "does not fit: 412 GiB of 80 GiB"},
                   {"tp 16, pp 1, dp 32", {2.6, 1.9, 0, 0.2, 0.04, 0.02}}},
          .axis_title = "time of one step"};
}

StackedBars many_parts() {
  StackedBars bars{
      .title = "Memory of the fullest rank", .parts = {}, .bars = {}, .unit = Unit::kBytes};
  for (int i = 0; i < 11; ++i) bars.parts.push_back(fmt::format("part {}", i + 1));
  for (int b = 0; b < 3; ++b) {
    bars.bars.push_back({fmt::format("plan {}", b), {}});
    for (int i = 0; i < 11; ++i)
      bars.bars.back().parts.push_back((1.0 + (i * 5 + b * 3) % 7) * (1 << 30));
  }
  bars.bars.push_back({"a bar with no value at all", {kNan, -1}});
  return bars;
}

Scatter scatter(int count) {
  Scatter scatter{.title = fmt::format("Cost of a run against its time, {} plans", count),
                  .x = {.title = "time of the run", .unit = Unit::kSeconds, .log = true},
                  .y = {.title = "cost of the run", .unit = Unit::kUsd, .log = true},
                  .points = {},
                  .point_name = "other plans"};
  Random random(7);
  for (int i = 0; i < count; ++i) {
    const double t = 86400 * std::exp(3.0 * random.uniform());
    const double c = 9e10 / t * std::exp(0.1 - 0.7 * std::log(1 - random.uniform()));
    scatter.points.push_back(
        {t, c, fmt::format("{} nodes, tp {}, pp {}", 1 + i % 256, 1 << (i % 4), 1 << (i % 3))});
  }
  std::sort(scatter.points.begin(), scatter.points.end(),
            [](const ScatterPoint& a, const ScatterPoint& b) { return a.x < b.x; });
  double least = std::numeric_limits<double>::infinity();
  for (ScatterPoint& point : scatter.points) {
    point.front = point.y < least;
    least = std::min(least, point.y);
  }
  scatter.points.push_back({kNan, 1, "nowhere"});
  return scatter;
}

Lines bandwidth() {
  Lines lines{
      .title = "Step time by bandwidth between nodes",
      .x = {.title = "bandwidth of a device's link", .unit = Unit::kBytesPerSecond, .log = true},
      .y = {.title = "step time", .unit = Unit::kSeconds, .from_zero = true},
      .categories = {},
      .series = {}};
  for (const int tp : {1, 2, 4, 8, 16}) {
    LineSeries series{fmt::format("tp {}", tp), {}};
    for (double link = 6.25e9; link <= 900e9; link *= 2)
      series.points.push_back({link, (tp == 1 && link > 50e9) || (tp == 2 && link < 10e9)
                                         ? kNan
                                         : step_time(512, tp, link)});
    lines.series.push_back(series);
  }
  return lines;
}

Lines sensitivity() {
  Lines lines{.title = "What a quarter more of each buys",
              .x = {.title = {}},
              .y = {.title = "throughput gained", .unit = Unit::kShare, .lower_is_better = false},
              .categories = {"peak FLOP/s", "memory bandwidth", "memory capacity",
                             "NVLink bandwidth", "network bandwidth", "network latency",
                             "host speed", "number of devices", "global batch", "sequence length"},
              .series = {{"llama3-8b", {}}, {"llama3-70b", {}}}};
  for (int i = 0; i < 10; ++i) {
    lines.series[0].points.push_back({1.0 * i, 0.14 / (1 + i)});
    lines.series[1].points.push_back({1.0 * i, i == 4 ? kNan : 0.21 / (1 + i % 5)});
  }
  return lines;
}

PageTable table() {
  PageTable table{
      "Plans on the front", {{"plan"}, {"step time", true}, {"memory", true}, {"fits"}}, {}};
  for (int i = 0; i < 12; ++i) {
    const double t = step_time(64 << (i % 5), 1 << (i % 4), 400e9);
    PageCell memory{"-"};
    if (i % 5 != 3)
      memory = {human(9e9 * (1 + (i * 7) % 10), Unit::kBytes), 9e9 * (1 + (i * 7) % 10)};
    table.rows.push_back({{fmt::format("tp {}, devices {}", 1 << (i % 4), 64 << (i % 5))},
                          {human(t, Unit::kSeconds), t},
                          memory,
                          {i % 5 == 3 ? "no" : "yes"}});
  }
  return table;
}

void write_all(const std::filesystem::path& folder, int num_seeds) {
  std::filesystem::create_directories(folder);
  struct Named {
    const char* name;
    std::string svg;
    const char* caption;
  };
  const std::vector<Named> pictures = {
      {"heat", svg_of(heat_map(), "heat"), "The best split of each cluster is outlined."},
      {"wide", svg_of(wide_heat_map(), "wide"), "Long names are turned and shortened."},
      {"bars", svg_of(stacked_bars(), "bars"), "Plans that do not fit are hatched."},
      {"parts", svg_of(many_parts(), "parts"),
       "From the ninth part on colours come again, hatched."},
      {"few", svg_of(scatter(400), "few"), "Every plan is a point."},
      {"many", svg_of(scatter(100000), "many"), "So many plans are counted in squares."},
      {"lines", svg_of(bandwidth(), "lines"), "Lines break where a plan does not fit."},
      {"categories", svg_of(sensitivity(), "categories"), "Categories in place of numbers."},
      {"empty", svg_of(Scatter{.title = "Nothing"}, "empty"), "A picture of nothing says so."}};
  for (const Named& picture : pictures) {
    write_file((folder / (std::string(picture.name) + ".svg")).string(), picture.svg);
    std::printf("%s.svg: %zu bytes\n", picture.name, picture.svg.size());
  }
  Page page{.title = "A page with every picture",
            .lead =
                "Figures on this page come from simple formulas; it exists to be looked at and "
                "to be tested."};
  page.footer = {.command = "chart_sample --with '<odd> & \"quoted\"' arguments",
                 .version = "nereus sample",
                 .inputs = {"study.toml", "model llama3-70b", "cluster 64xdgx-h100"}};
  const auto picture = [&](std::size_t i) {
    return PagePicture{pictures[i].svg, pictures[i].caption};
  };
  page.sections = {
      {.title = "Clusters and splits",
       .paragraphs = {"Every column is a cluster, every row a split. The better a cell, the "
                      "stronger its colour."},
       .pictures = {picture(0), picture(1)}},
      {.title = "Where time and memory go", .pictures = {picture(2), picture(3)}},
      {.title = "Cost against time", .pictures = {picture(4), picture(5)}, .tables = {table()}},
      {.title = "Sensitivity", .pictures = {picture(6), picture(7), picture(8)}}};
  write_file((folder / "sample.html").string(), html_of(page));

  Page hard{.title = "Random pictures"};
  for (int seed = 0; seed < num_seeds; ++seed)
    hard.sections.push_back({.title = fmt::format("Seed {}", seed), .pictures = hard_cases(seed)});
  write_file((folder / "hard.html").string(), html_of(hard));
}

}  // namespace
}  // namespace nereus::chart

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: chart_sample DIRECTORY [SEEDS]\n");
    return 2;
  }
  nereus::chart::write_all(argv[1], argc == 3 ? std::atoi(argv[2]) : 12);
}
