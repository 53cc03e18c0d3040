#include "api/reports/cluster_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/form/json.hpp"
#include "base/format.hpp"
#include "timeline/text_drawing.hpp"

namespace nereus::api {

namespace {

using app::ClusterRow;

constexpr std::size_t kMostLanes = 24;

// Copies of a job in a row's play.
struct JobSum {
  std::int64_t begun = 0, done = 0;
  double steps = 0;
  double first_end = 0, last_end = 0;
};

JobSum sum_of(const ClusterRow& row, int job) {
  JobSum out;
  for (const simulate::PlayedJob& own : row.play.jobs) {
    if (own.job != job) continue;
    ++out.begun;
    out.steps += own.steps;
    if (!own.done) continue;
    out.first_end = out.done == 0 ? own.end : std::min(out.first_end, own.end);
    out.last_end = std::max(out.last_end, own.end);
    ++out.done;
  }
  return out;
}

Cell digits(double value) { return format_significant(value); }

Table settings_table(const app::ClusterAnswer& answer) {
  Table table{
      .name = "settings",
      .title = fmt::format("{} on {}, {}", answer.predicted.plan.model.name,
                           counted(answer.num_devices, "device"), counted(answer.steps, "step")),
      .columns = {{"setting", "setting"},
                  {"step_s", "step", Unit::kSeconds},
                  {"slowdown", "slowdown", Unit::kShare},
                  {"samples_per_s", "samples/s", Unit::kNone, false, false, 2},
                  {"foreground", "foreground"},
                  {"background", "background"},
                  {"cluster", "cluster"},
                  {"over_data_parallel", "vs. first row"},
                  {"idle", "idle alone", Unit::kShare, false, false, 1}},
      .rows = {}};
  for (const ClusterRow& row : answer.rows)
    table.rows.push_back({row.name, row.step_s, row.slowdown, digits(row.samples_per_s),
                          digits(row.foreground), digits(row.background), digits(row.cluster()),
                          digits(row.cluster() / answer.rows.front().cluster()), row.idle});
  table.notes.emplace_back(
      "foreground, background, cluster: throughput as a number of fully used devices; 1 is what "
      "one "
      "device does if it runs only that job");
  table.notes.push_back(fmt::format(
      "sharing: background jobs run in pieces of {} after {} of switching, at {:g} % of their "
      "standalone speed; foreground steps may become {:g} % longer, and become {:g} % of that "
      "longer while background jobs run on the same devices",
      human(answer.rules.piece, Unit::kSeconds), human(answer.rules.switching, Unit::kSeconds),
      100 * answer.rules.yield, 100 * answer.rules.bound, 100 * answer.rules.aim));
  table.notes.push_back(fmt::format("simulated in {:.2g} s", answer.seconds));
  return table;
}

Table jobs_table(const app::ClusterAnswer& answer) {
  Table table{.name = "background",
              .title = "Background jobs",
              .columns = {{"setting", "setting"},
                          {"job", "job"},
                          {"begun", "started", Unit::kCount},
                          {"done", "done", Unit::kCount},
                          {"steps", "steps"},
                          {"first_end_s", "first finished", Unit::kSeconds},
                          {"last_end_s", "last finished", Unit::kSeconds}},
              .rows = {}};
  for (const ClusterRow& row : answer.rows) {
    if (!row.shared) continue;
    for (std::size_t j = 0; j < answer.jobs.size(); ++j) {
      const JobSum own = sum_of(row, static_cast<int>(j));
      table.rows.push_back({row.name, answer.jobs[j].name, own.begun, own.done, digits(own.steps),
                            own.done > 0 ? Cell(own.first_end) : Cell(),
                            own.done > 0 ? Cell(own.last_end) : Cell()});
    }
    if (row.play.waiting > 0)
      table.notes.push_back(fmt::format("{}: {} found no free devices before the end", row.name,
                                        counted(row.play.waiting, "copy", "copies")));
  }
  return table;
}

Table drawing_table(const app::ClusterAnswer& answer, const Terminal& out) {
  Table table{.name = "drawing",
              .title = "A step of the plan",
              .columns = {{"ranks", "ranks"}, {"drawing", "busy", Unit::kNone, false, false}},
              .rows = {}};
  const int width = std::clamp((out.width > 0 ? out.width : 100) - 22, 20, 120);
  const std::vector<std::string> lines = timeline::text_drawing(answer.passes, width);
  for (std::size_t i = 0; i < lines.size() && i < kMostLanes; ++i)
    table.rows.push_back({answer.passes.lanes[i].process_name, lines[i]});
  if (lines.size() > kMostLanes)
    table.notes.push_back(
        fmt::format("{}; --svg FILE draws all", counted(lines.size() - kMostLanes, "more row")));
  table.notes.emplace_back(
      "0 forward, a backward, > moving samples, = gradient all-reduce and the end of the step, "
      "blank: free for background jobs");
  return table;
}

std::string json_of(const app::ClusterAnswer& answer) {
  Json json;
  json["model"] = answer.predicted.plan.model.name;
  json["devices"] = answer.num_devices;
  json["fits"] = answer.predicted.prediction.fits;
  json["steps"] = answer.steps;
  json["promised_slowdown"] = answer.rules.bound;
  json["one_device_step_s"] = answer.one_device_s;
  json["settings"] = Json::array();
  for (const ClusterRow& row : answer.rows) {
    Json own = {{"setting", row.name},
                {"step_s", row.step_s},
                {"slowdown", row.slowdown},
                {"samples_per_s", row.samples_per_s},
                {"foreground", row.foreground},
                {"background", row.background},
                {"cluster", row.cluster()},
                {"over_data_parallel", row.cluster() / answer.rows.front().cluster()},
                {"idle", row.idle},
                {"duration_s", row.play.seconds},
                {"waiting", row.play.waiting}};
    own["jobs"] = Json::array();
    for (std::size_t j = 0; row.shared && j < answer.jobs.size(); ++j) {
      const JobSum sum = sum_of(row, static_cast<int>(j));
      own["jobs"].push_back({{"job", answer.jobs[j].name},
                             {"devices", answer.jobs[j].num_ranks},
                             {"alone_step_s", answer.jobs[j].step_s},
                             {"begun", sum.begun},
                             {"done", sum.done},
                             {"steps", sum.steps},
                             {"steps_per_s", sum.steps / row.play.seconds},
                             {"first_end_s", sum.done > 0 ? Json(sum.first_end) : Json()},
                             {"last_end_s", sum.done > 0 ? Json(sum.last_end) : Json()}});
    }
    json["settings"].push_back(std::move(own));
  }
  json["seconds"] = answer.seconds;
  return json.dump(2);
}

}  // namespace

Report cluster_report(const app::ClusterAnswer& answer, const Terminal& out) {
  Report report{.tables = {settings_table(answer)}, .json = json_of(answer)};
  report.tables.push_back(jobs_table(answer));
  report.tables.push_back(drawing_table(answer, out));
  return report;
}

}  // namespace nereus::api
