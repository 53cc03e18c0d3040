#include "api/reports/stalls_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/form/json.hpp"
#include "api/reports/page_table.hpp"
#include "base/format.hpp"
#include "base/write_file.hpp"
#include "chart/stacked_bars.hpp"

namespace nereus::api {

namespace {

using measure::Stall;
using measure::StallKind;

const char* words_of(StallKind kind) {
  switch (kind) {
    case StallKind::kLaunch:
      return "launching operations";
    case StallKind::kContention:
      return "contention between ranks";
    case StallKind::kStraggler:
      return "slowest rank";
    case StallKind::kInterconnect:
      return "interconnect";
    case StallKind::kNetwork:
      return "network";
    case StallKind::kHostCopy:
      return "copies to the device";
    case StallKind::kPrepare:
      return "preparing samples";
    case StallKind::kFetch:
      return "reading storage";
  }
  return "";
}

std::string verdict_of(const Stall& stall, int num_ranks) {
  if (!stall.measured) return stall.note;
  if (!stall.significant) return "not significant";
  if (stall.kind == StallKind::kStraggler && num_ranks > 2)
    return fmt::format("rank {} is the slowest", stall.rank);
  return stall.kind == StallKind::kLaunch ? "part of one device's work" : "";
}

std::string json_of(const app::StallAnswer& answer) {
  const measure::StallReport& report = answer.report;
  Json json;
  json["model"] = answer.model;
  json["ranks"] = report.num_ranks;
  json["hosts"] = report.num_hosts;
  json["library"] = answer.library;
  json["step_s"] = report.step_s;
  json["one_device_s"] = report.alone_s;
  json["at_hand_s"] = report.at_hand_s;
  json["warm_s"] = report.warm_s;
  if (answer.parameters > 0) json["parameters"] = answer.parameters;
  if (answer.bucket_bytes > 0) json["bucket_bytes"] = answer.bucket_bytes;
  json["operations_per_step"] = report.operations;
  if (answer.tokens > 0)
    json[answer.counts_tokens ? "tokens_per_s" : "samples_per_s"] = answer.tokens / report.step_s;
  json["rounds"] = report.rounds;
  json["confidence"] = measure::kConfidence;
  json["storage_bytes_per_step"] = report.bytes_from_storage;
  for (const Stall& stall : report.stalls) {
    Json& one = json["stalls"][std::string(to_string(stall.kind))];
    one = {{"seconds", stall.seconds},
           {"share", stall.share},
           {"low", stall.low},
           {"high", stall.high},
           {"significant", stall.significant},
           {"measured", stall.measured}};
    if (stall.rank >= 0) one["rank"] = stall.rank;
    if (!stall.note.empty()) one["note"] = stall.note;
  }
  json["notes"] = report.notes;
  json["blocks"] = Json::array();
  for (const measure::BlockTime& time : answer.blocks)
    json["blocks"].push_back({{"block", to_string(time.block)},
                              {"round", time.round},
                              {"rank", time.rank},
                              {"host", time.host},
                              {"seconds", time.seconds},
                              {"storage_bytes", time.bytes},
                              {"count", time.count}});
  return json.dump(2);
}

}  // namespace

Report stalls_report(const app::StallAnswer& answer) {
  const measure::StallReport& report = answer.report;
  Report result;
  Table step{
      .name = "step",
      .title = fmt::format("Step of {} on {}", answer.model, counted(report.num_ranks, "rank")),
      .columns = {{"step_s", "step", Unit::kSeconds},
                  {"one_device_s", "one device's work", Unit::kSeconds},
                  {"rounds", "rounds"}},
      .rows = {{report.step_s, report.alone_s, report.rounds}},
      .record = true};
  Table stalls{.name = "stalls",
               .title = "What a step waits for",
               .columns = {{"cause", "cause"},
                           {"seconds", "per step", Unit::kSeconds},
                           {"share", "share", Unit::kShare, true},
                           {"low", "from", Unit::kSeconds},
                           {"high", "to", Unit::kSeconds},
                           {"verdict", ""}}};
  for (const Stall& stall : report.stalls) {
    std::vector<Cell> row = {words_of(stall.kind)};
    if (stall.measured)
      row.insert(row.end(), {stall.seconds, stall.share, stall.low, stall.high});
    else
      row.insert(row.end(), 4, Cell());
    row.push_back(verdict_of(stall, report.num_ranks));
    stalls.rows.push_back(std::move(row));
  }
  stalls.notes.push_back(
      fmt::format("{}; all intervals hold simultaneously at {:.0f} % confidence. A stall is "
                  "significant if its interval lies above {:.0f} % of the step.",
                  fmt::format(fmt::runtime(answer.how), report.rounds), measure::kConfidence * 100,
                  measure::kNegligible * 100));
  for (const std::string& note : report.notes) stalls.notes.push_back(note);
  result.tables = {std::move(step), std::move(stalls)};
  result.json = json_of(answer);
  return result;
}

std::string stalls_picture(const std::string& title, const std::vector<StallRun>& runs) {
  chart::StackedBars bars;
  bars.title = title;
  bars.parts = {"one device's work"};
  for (const StallRun& run : runs) bars.bars.push_back({run.name, {run.report->alone_s}});
  for (int i = 0; i < measure::kNumStalls; ++i) {
    const auto kind = static_cast<StallKind>(i);
    // Launching is a part of one device's work.
    if (kind == StallKind::kLaunch ||
        std::none_of(runs.begin(), runs.end(),
                     [&](const StallRun& run) { return run.report->of(kind).measured; }))
      continue;
    bars.parts.push_back(words_of(kind));
    for (std::size_t r = 0; r < runs.size(); ++r)
      bars.bars[r].parts.push_back(std::max(0.0, runs[r].report->of(kind).seconds));
  }
  return chart::svg_of(bars, "stalls");
}

std::string stalls_picture(const app::StallAnswer& answer) {
  const measure::StallReport& report = answer.report;
  const std::string name = counted(report.num_ranks, "rank");
  return stalls_picture(fmt::format("Where a step of {} goes", answer.model), {{name, &report}});
}

std::string stalls_page(const app::StallAnswer& answer) {
  const Report report = stalls_report(answer);
  chart::Page page{.title = fmt::format("What a step of {} waits for", answer.model),
                   .lead = fmt::format("{}, {} per step.", answer.library,
                                       format_seconds(Seconds{answer.report.step_s}))};
  page.sections.push_back({.title = "Stalls",
                           .paragraphs = report.tables[1].notes,
                           .pictures = {{stalls_picture(answer), "Means over rounds."}},
                           .tables = {page_table(report.tables[1])}});
  page.footer = page_footer("nereus measure", {});
  return chart::html_of(page);
}

void write_stall_pictures(const app::StallAnswer& answer, const std::string& svg_file,
                          const std::string& html_file) {
  if (!svg_file.empty()) write_file(svg_file, stalls_picture(answer));
  if (!html_file.empty()) write_file(html_file, stalls_page(answer));
}

}  // namespace nereus::api
