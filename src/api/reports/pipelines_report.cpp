#include "api/reports/pipelines_report.hpp"

#include <fmt/format.h>

namespace nereus::api {

namespace {

constexpr std::array<const char*, app::kNumVarunaViews> kKeys = {
    "as_released", "no_jitter", "workers", "workers_no_jitter", "one_at_a_time"};
constexpr std::array<const char*, app::kNumVarunaViews> kTitles = {
    "its rule, its jitter", "its rule, no jitter", "rule of the workers, its jitter",
    "rule of the workers, no jitter", "rule of the workers, no jitter, one message at a time"};

Table summary(const app::ValidatePipelinesAnswer& answer) {
  Table table{.name = "pipelines",
              .columns = {{"mode", "mode"},
                          {"rows", "rows"},
                          {"view", "simulated with"},
                          {"bias", "mean error", Unit::kShare},
                          {"mean_abs_error", "mean absolute error", Unit::kShare},
                          {"worst_error", "worst", Unit::kShare}}};
  for (const app::PipelineSum& sum : answer.sums) {
    for (std::size_t view = 0; view < kTitles.size(); ++view) {
      // GPipe's recompute never waits for its gradient, whatever the rule.
      const simulate::VarunaView& own = app::kVarunaViews[view];
      if (sum.mode == "gpipe" && !own.recompute_waits && own.at_once > 1) continue;
      table.rows.push_back(
          {sum.mode, sum.rows, kTitles[view], sum.bias[view], sum.mean_abs[view], sum.worst[view]});
    }
    table.notes.push_back(
        fmt::format("{}: {} of {} rows lie within two standard deviations of our mean over {} "
                    "draws, {} within four",
                    sum.mode, sum.within_two, sum.rows, app::kVarunaDraws, sum.within_four));
  }
  return table;
}

Table rows_table(const app::ValidatePipelinesAnswer& answer) {
  Table table{.name = "results",
              .columns = {{"line", "line"},
                          {"mode", "mode"},
                          {"stages", "stages"},
                          {"micro_batches", "micro-batches"},
                          {"send_s", "send", Unit::kSeconds},
                          {"long_send_s", "between machines", Unit::kSeconds},
                          {"reference_s", "its simulator", Unit::kSeconds},
                          {"as_released_s", "ours", Unit::kSeconds},
                          {"deviation_s", "deviation", Unit::kSeconds}}};
  for (std::size_t view = 0; view < kTitles.size(); ++view)
    table.columns.push_back({fmt::format("{}_error", kKeys[view]), kTitles[view], Unit::kShare});
  for (const app::PipelineRow& row : answer.rows) {
    const simulate::VarunaRun& run = row.run;
    table.rows.push_back({run.line, run.gpipe ? "gpipe" : "varuna", run.size.depth,
                          run.size.micro_batches, run.send, run.long_send, run.simulated,
                          row.ours[0].mean, row.ours[0].deviation});
    for (const simulate::VarunaTime& ours : row.ours)
      table.rows.back().push_back(ours.mean / run.simulated - 1);
  }
  return table;
}

}  // namespace

Report pipelines_report(const app::ValidatePipelinesAnswer& answer, bool rows, bool rows_only) {
  Report report{.tables = {summary(answer)}};
  if (rows && rows_only)
    report.tables = {rows_table(answer)};
  else if (rows)
    report.tables.push_back(rows_table(answer));
  return report;
}

}  // namespace nereus::api
