#include "api/reports/what_if_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/form/json.hpp"
#include "api/reports/page_table.hpp"
#include "api/reports/stalls_report.hpp"
#include "base/format.hpp"
#include "chart/stacked_bars.hpp"

namespace nereus::api {

namespace {

using measure::Change;
using measure::ChangedStep;
using measure::ChangeKind;

std::string words_of(const Change& change) {
  const std::string times = fmt::format("{:g}", change.value);
  switch (change.kind) {
    case ChangeKind::kCores:
      return fmt::format("{} x the cores for samples", times);
    case ChangeKind::kDisk:
      return fmt::format("{} x the disk's rate", times);
    case ChangeKind::kCached:
      return fmt::format("{} of the samples in memory", human(change.value, Unit::kShare));
    case ChangeKind::kLinks:
      return fmt::format("{} x the links", times);
    case ChangeKind::kBucket:
      return fmt::format("buckets of {}", format_bytes(Bytes{change.value}));
    case ChangeKind::kDevice:
      return fmt::format("{} x the device", times);
  }
  return "";
}

std::string words_of(const std::vector<Change>& changes) {
  if (changes.size() > 1) return "all of these";
  return words_of(changes.front());
}

std::string name_of(const WhatIf& run, bool several) {
  return several ? fmt::format("{} ({})", run.now.model, run.file) : run.now.model;
}

Json change_json(const std::vector<Change>& changes) {
  Json json = Json::object();
  for (const Change& change : changes) json[std::string(to_string(change.kind))] = change.value;
  return json;
}

Table table_of(const WhatIf& run, bool several) {
  Table table{.name = "changes",
              .title = fmt::format("Step of {}: {} as measured", name_of(run, several),
                                   format_seconds(Seconds{run.now.report.step_s})),
              .columns = {{"change", "with"},
                          {"step_s", "step", Unit::kSeconds},
                          {"gain", "gain", Unit::kShare},
                          {"low", "from", Unit::kSeconds, false, false, 1},
                          {"high", "to", Unit::kSeconds, false, false, 1},
                          {"scales", "what is scaled", Unit::kNone, false, true}}};
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const ChangedStep& step = run.steps[i];
    table.rows.push_back({words_of(run.changes[i]), step.seconds,
                          1 - step.seconds / run.now.report.step_s, step.low, step.high,
                          run.changes[i].size() > 1 ? "" : step.scales});
  }
  return table;
}

}  // namespace

Report what_if_report(const std::vector<WhatIf>& runs) {
  Report report;
  Json json;
  json["runs"] = Json::array();
  for (const WhatIf& run : runs) {
    report.tables.push_back(table_of(run, runs.size() > 1));
    Json one;
    one["file"] = run.file;
    one["model"] = run.now.model;
    one["step_s"] = run.now.report.step_s;
    one["changes"] = Json::array();
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
      const ChangedStep& step = run.steps[i];
      one["changes"].push_back({{"change", change_json(run.changes[i])},
                                {"step_s", step.seconds},
                                {"low", step.low},
                                {"high", step.high},
                                {"work_s", step.work},
                                {"talk_s", step.talk},
                                {"copies_s", step.copies},
                                {"data_s", step.data},
                                {"scales", step.scales}});
    }
    json["runs"].push_back(std::move(one));
  }
  if (!report.tables.empty())
    report.tables.back().notes.push_back(fmt::format(
        "step = max(work + exposed communication, preparing, reading); exposed communication is "
        "the part of the gradient all-reduces that the backward pass does not hide, with {} plus "
        "the time of its bytes per all-reduce (assumed)",
        format_seconds(Seconds{measure::kSumLatency})));
  report.json = json.dump(2);
  return report;
}

std::string what_if_picture(const std::vector<WhatIf>& runs) {
  chart::StackedBars bars;
  bars.title = runs.size() == 1
                   ? fmt::format("A step of {}, as measured and with changes", runs[0].now.model)
                   : "Steps as measured, and with changes";
  const bool copies = std::any_of(runs.begin(), runs.end(), [](const WhatIf& run) {
    return run.now.report.of(measure::StallKind::kHostCopy).measured;
  });
  bars.parts = {"work", "exposed communication", "waiting for samples"};
  if (copies) bars.parts.emplace_back("copies to the device");
  for (const WhatIf& run : runs) {
    const auto add = [&](const std::string& name, const ChangedStep& step) {
      bars.bars.push_back(
          {.name = name, .parts = {step.work, step.talk, std::max(0.0, step.data), step.copies}});
    };
    add(runs.size() == 1 ? "as measured" : run.file, measure::what_if(run.now, {}));
    for (std::size_t i = 0; i < run.steps.size(); ++i) add(words_of(run.changes[i]), run.steps[i]);
  }
  return chart::svg_of(bars, "what-if");
}

std::string what_if_page(const std::vector<WhatIf>& runs) {
  chart::Page page{.title = "What a step would take",
                   .lead = "Estimated from measured stalls, with one change at a time."};
  std::vector<StallRun> measured;
  for (const WhatIf& run : runs)
    measured.push_back({name_of(run, runs.size() > 1), &run.now.report});
  page.sections.push_back({.title = "As measured",
                           .pictures = {{stalls_picture("Where a step goes", measured),
                                         "What each step waits for, by cause."}}});
  page.sections.push_back({.title = "With changes",
                           .pictures = {{what_if_picture(runs),
                                         "A step takes as long as the slowest of three: work plus "
                                         "exposed communication, preparing, and reading."}}});
  std::vector<std::string> files;
  for (const WhatIf& run : runs) {
    page.sections.back().tables.push_back(page_table(table_of(run, runs.size() > 1)));
    files.push_back(run.file);
  }
  page.footer = page_footer("nereus measure --what-if", files);
  return chart::html_of(page);
}

}  // namespace nereus::api
