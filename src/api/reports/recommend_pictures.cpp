#include "api/reports/recommend_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/reports/page_table.hpp"
#include "api/reports/recommend_report.hpp"
#include "base/format.hpp"
#include "chart/page.hpp"
#include "chart/scatter.hpp"
#include "chart/stacked_bars.hpp"

namespace nereus::api {

namespace {

using app::RecommendAnswer;
using app::RecommendOption;
using cost::Part;

struct BarPart {
  const char* name;
  std::vector<Part> parts;  // of a prediction
};

const std::vector<BarPart>& bar_parts() {
  static const std::vector<BarPart> kParts = {
      {"compute", {Part::kCompute, Part::kRecompute, Part::kOptimizer}},
      {"tensor, context and expert communication",
       {Part::kTensorComm, Part::kContextComm, Part::kExpertComm}},
      {"pipeline bubble and communication", {Part::kBubble, Part::kPipelineComm}},
      {"gradient all-reduce", {Part::kDataComm}},
      {"launches, copies, other", {Part::kOffload, Part::kInput, Part::kLaunch, Part::kFixed}}};
  return kParts;
}

chart::Bar bar_of(const RecommendOption& o, double start) {
  chart::Bar bar{.name = machines_text(o), .parts = {}};
  double known = 0;
  for (const BarPart& part : bar_parts()) {
    double seconds = 0;
    for (const Part p : part.parts) seconds += o.parts[static_cast<std::size_t>(p)];
    bar.parts.push_back(o.steps * seconds);
    known += o.steps * seconds;
  }
  const double undisturbed = o.steps * o.step;
  bar.parts.push_back(std::max(0.0, undisturbed - std::max(known, o.steps * o.compute)));
  bar.parts.push_back(std::max(0.0, o.hours * 3600 - start - undisturbed));
  bar.parts.push_back(start);
  return bar;
}

}  // namespace

std::string recommend_scatter(const RecommendAnswer& answer) {
  chart::Scatter scatter;
  scatter.title = fmt::format("{}: dollars against hours", answer.model.name);
  scatter.x = {.title = "hours", .unit = Unit::kNone, .log = true};
  scatter.y = {.title = "dollars", .unit = Unit::kUsd, .log = true};
  scatter.front_name = "Pareto front";
  scatter.point_name = "best of the other offers";
  const auto on_front = [&](const RecommendOption& o) {
    for (const RecommendOption& f : answer.front)
      if (f.offer == o.offer && f.count == o.count && f.spot == o.spot) return true;
    return false;
  };
  for (const RecommendOption& o : answer.options)
    if (!on_front(o))
      scatter.points.push_back({.x = o.hours, .y = o.usd, .label = machines_text(o)});
  for (const RecommendOption& o : answer.front)
    scatter.points.push_back({.x = o.hours, .y = o.usd, .label = machines_text(o), .front = true});
  return svg_of(scatter, "rent");
}

std::string recommend_bars(const RecommendAnswer& answer, const app::RecommendRequest& request) {
  chart::StackedBars bars;
  bars.title = fmt::format("{}: where the time of each offer goes", answer.model.name);
  for (const BarPart& part : bar_parts()) bars.parts.emplace_back(part.name);
  bars.parts.insert(bars.parts.end(),
                    {"waiting for samples", "loss of spot machines", "getting machines"});
  std::vector<const RecommendOption*> shown;
  for (const RecommendOption& o : answer.options)
    if (static_cast<int>(shown.size()) < request.top) shown.push_back(&o);
  if (shown.empty() && answer.nearest) shown.push_back(&*answer.nearest);
  for (const RecommendOption* o : shown) bars.bars.push_back(bar_of(*o, request.start_seconds));
  // Colours of parts that no offer has stand for nothing.
  for (std::size_t i = bars.parts.size(); i-- > 0;) {
    if (std::any_of(bars.bars.begin(), bars.bars.end(), [&](const chart::Bar& bar) {
          return bar.parts[i] > 1e-9 * request.start_seconds;
        }))
      continue;
    bars.parts.erase(bars.parts.begin() + static_cast<std::ptrdiff_t>(i));
    for (chart::Bar& bar : bars.bars)
      bar.parts.erase(bar.parts.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return chart::svg_of(bars, "offers");
}

std::string recommend_page(const RecommendAnswer& answer, const app::RecommendRequest& request) {
  const Report report = recommend_report(answer, request);
  chart::Page page{.title = fmt::format("Machines to train {}", answer.model.name),
                   .lead = report.tables.front().title};
  page.sections.push_back({.title = "Dollars against hours",
                           .pictures = {{recommend_scatter(answer),
                                         "The best option of each offer, and the Pareto front of "
                                         "hours and dollars."}}});
  page.sections.push_back({.title = "Where the time goes",
                           .pictures = {{recommend_bars(answer, request),
                                         "Predicted time of whole jobs, the cheapest first."}}});
  for (const Table& table : report.tables)
    if (!table.rows.empty())
      page.sections.push_back({.title = table.name == "options" ? "Options" : table.title,
                               .paragraphs = table.notes,
                               .tables = {page_table(table)}});
  page.footer = page_footer("nereus recommend --model " + answer.model.name, {});
  return chart::html_of(page);
}

}  // namespace nereus::api
