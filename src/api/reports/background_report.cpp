#include "api/reports/background_report.hpp"

#include <fmt/format.h>

#include <optional>

#include "api/form/json.hpp"
#include "base/format.hpp"

namespace nereus::api {

namespace {

using launch::BackgroundEnd;
using launch::BackgroundResult;

const char* word_of(BackgroundEnd end) {
  switch (end) {
    case BackgroundEnd::kNotBegun:
      return "not begun";
    case BackgroundEnd::kDone:
      return "done";
    case BackgroundEnd::kWithForeground:
      return "ended with the foreground";
    case BackgroundEnd::kFailed:
      return "failed";
    case BackgroundEnd::kOverQuota:
      return "over its quota";
  }
  return "";
}

double rate_of(const BackgroundResult& job, double step_s) {
  return static_cast<double>(job.work) / step_s;
}

// Speed relative to running without the foreground. Empty if one of the two is unknown, or if the
// job seems faster than without the foreground: that is measured in a few steps, which something
// else disturbed.
std::optional<double> share_of_alone(const BackgroundResult& job) {
  if (job.step_s <= 0 || job.alone_step_s <= 0 || job.alone_step_s > job.step_s) return {};
  return job.alone_step_s / job.step_s;
}

bool disturbed_alone(const BackgroundResult& job) {
  return job.step_s > 0 && job.alone_step_s > job.step_s;
}

// Why a job that was allowed to run did no step; empty if it did, or takes turns.
std::string why_no_step(const BackgroundResult& job, const launch::BackgroundOutcome& outcome) {
  if (job.end != BackgroundEnd::kWithForeground || job.steps > 0) return {};
  if (outcome.num_pieces > 0 || outcome.mean_share <= 0) return {};
  constexpr double kToStart = 1;  // seconds, only to load libraries
  const double let_run_s = outcome.mean_share * job.seconds;
  const std::string begin =
      fmt::format("it made no step in the {} for which it was allowed to run: ",
                  human(let_run_s, Unit::kSeconds));
  if (let_run_s < kToStart)
    return begin +
           "that time is too short to start; a larger --slowdown or more foreground steps would "
           "help";
  if (!outcome.lowest_priority) return {};
  return begin +
         "it has the lowest priority and the CPUs were busy; --background-priority usual or "
         "dedicated cores would help";
}

Cell known(bool is_known, double value) { return is_known ? Cell(value) : Cell(); }

Table slowdown_table(const launch::BackgroundOutcome& outcome) {
  const launch::Slowdown& s = outcome.slowdown;
  Table table{.name = "slowdown",
              .title = "Cost for the foreground",
              .columns = {},
              .rows = {{}},
              .record = true};
  const auto add = [&](Column column, Cell cell) {
    table.columns.push_back(std::move(column));
    table.rows[0].push_back(std::move(cell));
  };
  const bool any = s.num_shared > 0;
  add({"alone_s", "foreground step alone (median)", Unit::kSeconds},
      known(s.num_alone > 0, s.alone_s));
  add({"median", "slowdown, median", Unit::kShare}, known(any, s.median));
  add({"p99", "slowdown, 99th percentile", Unit::kShare}, known(any, s.p99));
  add({"mean", "slowdown, mean of all steps", Unit::kShare}, known(any, s.mean));
  add({"alone_p99", "99th percentile of steps alone", Unit::kShare},
      known(s.num_alone > 0, s.alone_p99));
  add({"bound", "promised", Unit::kShare}, outcome.bound);
  add({"held", "promise kept"}, !any                    ? "no background job ran"
                                : s.held(outcome.bound) ? "yes"
                                                        : "no");
  add({"share_of_time", outcome.num_pieces > 0 ? "background ran" : "background was allowed to run",
       Unit::kShare},
      outcome.mean_share);
  table.notes.push_back(fmt::format(
      "{} ran alone and {} with the background; the promise is kept if neither the median nor the "
      "99th percentile exceeds that of the steps alone by more than the promised slowdown",
      counted(s.num_alone, "step"), s.num_shared));
  return table;
}

Table jobs_table(const launch::BackgroundOutcome& outcome) {
  Table table{.name = "background",
              .title = "Background jobs",
              .columns = {{"job", "job"},
                          {"end", "end"},
                          {"steps", "steps", Unit::kCount},
                          {"final_loss", "last loss"},
                          {"per_s", "tokens or samples/s"},
                          {"alone_per_s", "alone"},
                          {"share", "share of alone", Unit::kShare},
                          {"memory_bytes", "memory", Unit::kBytes}},
              .rows = {}};
  for (const BackgroundResult& job : outcome.jobs) {
    const bool measured = job.step_s > 0, alone = job.alone_step_s > 0;
    const std::optional<double> share = share_of_alone(job);
    table.rows.push_back(
        {job.name, word_of(job.end), job.steps, known(job.steps > 0, job.last_loss),
         measured ? Cell(rate_of(job, job.step_s)) : Cell(),
         alone ? Cell(rate_of(job, job.alone_step_s)) : Cell(), share ? Cell(*share) : Cell(),
         known(job.memory_bytes > 0, job.memory_bytes)});
    if (!job.why.empty()) table.notes.push_back(fmt::format("{}: {}", job.name, job.why));
    if (const std::string why = why_no_step(job, outcome); !why.empty())
      table.notes.push_back(fmt::format("{}: {}", job.name, why));
    if (disturbed_alone(job))
      table.notes.push_back(fmt::format(
          "{}: no share of its rate alone is shown, because it was slower alone than with the "
          "foreground; its rate alone is measured in a few steps, which something else disturbed",
          job.name));
  }
  if (outcome.num_pieces > 0)
    table.notes.push_back(
        fmt::format("background jobs ran in {}; {} of them finished later than planned",
                    counted(outcome.num_pieces, "piece"), outcome.num_late));
  if (outcome.num_pieces > 0 && outcome.steps_per_turn > 1)
    table.notes.push_back(fmt::format(
        "one of {} foreground steps gives background jobs up to {} and takes that much longer; "
        "the other steps give only the time they wait, because a turn of {} would be spent on "
        "switching between jobs",
        outcome.steps_per_turn, human(outcome.given_s, Unit::kSeconds),
        human(outcome.given_s / static_cast<double>(outcome.steps_per_turn), Unit::kSeconds)));
  if (outcome.start_s > outcome.slowdown.alone_s)
    table.notes.push_back(fmt::format(
        "in addition, one step gave a new job {} to measure its pieces; this time is not part of "
        "the slowdown above",
        human(outcome.start_s, Unit::kSeconds)));
  if (outcome.num_too_long > 0)
    table.notes.push_back(fmt::format(
        "in {} the next piece took {}, longer than a step may give; a step gives {} at most, or "
        "less if that is too much; smaller micro-batches have shorter pieces",
        counted(outcome.num_too_long, "foreground step"), human(outcome.longest_s, Unit::kSeconds),
        human(outcome.given_s, Unit::kSeconds)));
  if (outcome.num_rests > 0)
    table.notes.push_back(fmt::format(
        "even short turns cost more than {} of a step, so the background paused {} for 16,384 "
        "steps; a larger --slowdown or a foreground with longer steps would leave room",
        human(outcome.bound, Unit::kShare), counted(outcome.num_rests, "time")));
  return table;
}

}  // namespace

std::vector<Table> background_tables(const launch::BackgroundOutcome& outcome) {
  return {slowdown_table(outcome), jobs_table(outcome)};
}

std::string background_json(const launch::BackgroundOutcome& outcome) {
  const launch::Slowdown& s = outcome.slowdown;
  const auto if_any = [](bool any, double value) { return any ? Json(value) : Json(); };
  const bool any = s.num_shared > 0;
  Json json;
  json["slowdown"] = {{"promised", outcome.bound},
                      {"median", if_any(any, s.median)},
                      {"p99", if_any(any, s.p99)},
                      {"mean", if_any(any && s.num_alone > 0, s.mean)},
                      {"alone_p99", if_any(s.num_alone > 0, s.alone_p99)},
                      {"held", any ? Json(s.held(outcome.bound)) : Json()},
                      {"alone_step_s", if_any(s.num_alone > 0, s.alone_s)},
                      {"steps_alone", s.num_alone},
                      {"steps_beside", s.num_shared}};
  json["share_of_time"] = outcome.mean_share;
  json["control_group"] = outcome.control_group;
  if (outcome.num_pieces > 0)
    json["turns"] = {{"pieces", outcome.num_pieces},     {"late", outcome.num_late},
                     {"too_long", outcome.num_too_long}, {"longest_s", outcome.longest_s},
                     {"given_s", outcome.given_s},       {"steps_per_turn", outcome.steps_per_turn},
                     {"start_s", outcome.start_s},       {"rests", outcome.num_rests}};
  json["jobs"] = Json::array();
  for (const BackgroundResult& job : outcome.jobs) {
    const bool measured = job.step_s > 0, alone = job.alone_step_s > 0;
    const std::optional<double> share = share_of_alone(job);
    json["jobs"].push_back({{"job", job.name},
                            {"end", word_of(job.end)},
                            {"why", job.why},
                            {"steps", job.steps},
                            {"first_loss", if_any(job.steps > 0, job.first_loss)},
                            {"final_loss", if_any(job.steps > 0, job.last_loss)},
                            {"per_s", measured ? Json(rate_of(job, job.step_s)) : Json()},
                            {"alone_per_s", alone ? Json(rate_of(job, job.alone_step_s)) : Json()},
                            {"share", share ? Json(*share) : Json()},
                            {"memory_bytes", job.memory_bytes}});
  }
  return json.dump();
}

}  // namespace nereus::api
