#include "api/reports/job_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/form/json.hpp"
#include "base/format.hpp"

namespace nereus::api {

namespace {

using simulate::Activity;
using simulate::JobPlay;

constexpr Activity kAll[] = {Activity::kUseful, Activity::kCheckpoint, Activity::kRestart,
                             Activity::kLost, Activity::kIdle};
constexpr char kLetters[] = "#cr!.";

// For each of `width` equal intervals, what takes most of its time.
std::string drawing(const JobPlay& play, double begin, double end, int width) {
  std::string out;
  std::size_t at = 0;
  for (int i = 0; i < width; ++i) {
    const double from = begin + (end - begin) * i / width;
    const double to = begin + (end - begin) * (i + 1) / width;
    double spent[simulate::kNumActivities] = {};
    while (at < play.segments.size() && play.segments[at].end <= from) ++at;
    for (std::size_t s = at; s < play.segments.size() && play.segments[s].start < to; ++s)
      spent[static_cast<int>(play.segments[s].activity)] +=
          std::min(to, play.segments[s].end) - std::max(from, play.segments[s].start);
    out += kLetters[std::max_element(spent, spent + simulate::kNumActivities) - spent];
  }
  return out;
}

std::string machines_drawing(const app::JobAnswer& answer, int width) {
  const simulate::Availability& trace = answer.trace;
  std::string out;
  std::size_t at = 0;
  int count = 0;
  for (int i = 0; i < width; ++i) {
    const double middle = trace.begin + trace.duration() * (i + 0.5) / width;
    for (; at < trace.events.size() && trace.events[at].time <= middle; ++at)
      count += trace.events[at].added ? 1 : -1;
    // Tenths of the most there ever are.
    out += static_cast<char>(
        '0' + (answer.summary.most > 0 ? std::min(9, 10 * count / (answer.summary.most + 1)) : 0));
  }
  return out;
}

Table policies_table(const app::JobAnswer& answer) {
  Table table{.name = "policies", .title = answer.subject + ", " + answer.trace.name};
  table.columns = {{"policy", "policy"},
                   {"samples_per_s", "samples/s"},
                   {"goodput", "goodput", Unit::kShare},
                   {"useful", "useful", Unit::kShare},
                   {"checkpoint", "checkpoint", Unit::kShare},
                   {"restart", "restart", Unit::kShare},
                   {"lost", "lost", Unit::kShare},
                   {"idle", "idle", Unit::kShare}};
  if (answer.usd_per_hour) {
    table.columns.push_back({"usd", "cost", Unit::kUsd});
    table.columns.push_back({"usd_per_million_samples", "$/M samples", Unit::kUsd});
  }
  for (const JobPlay& play : answer.plays) {
    std::vector<Cell> row{play.policy, play.samples_per_s(), play.goodput()};
    for (const Activity a : kAll) row.emplace_back(play.share(a));
    if (const auto usd = answer.usd(play)) {
      row.emplace_back(*usd);
      row.push_back(play.samples > 0 ? Cell(*usd / play.samples * 1e6) : Cell());
    }
    table.rows.push_back(std::move(row));
  }
  const simulate::AvailabilitySummary& s = answer.summary;
  table.notes.push_back(fmt::format("{} to {}, {:.1f} on average, over {}; {} joined and {} left",
                                    s.least, counted(s.most, "machine"), s.mean,
                                    format_seconds(Seconds{answer.trace.duration()}),
                                    counted(s.added, "machine"), s.removed));
  table.notes.emplace_back(
      "goodput: samples trained, as a share of what the same machines could train if every change "
      "were free");
  for (const std::string& text : answer.assumptions) table.notes.push_back(text);
  if (answer.plans > 0)
    table.notes.push_back(fmt::format("{} searched", counted(answer.plans, "plan")));
  return table;
}

Table drawing_table(const app::JobAnswer& answer, const Terminal& out) {
  Table table{.name = "drawing",
              .title = "When",
              .columns = {{"policy", "policy"}, {"drawing", "from start to end"}}};
  const int width = std::clamp((out.width > 0 ? out.width : 100) - 14, 20, 120);
  table.rows.push_back({"machines", machines_drawing(answer, width)});
  for (const JobPlay& play : answer.plays)
    table.rows.push_back({play.policy, drawing(play, answer.trace.begin, answer.trace.end, width)});
  table.notes.emplace_back(
      "machines: in tenths of the largest number; policies: # useful, c checkpoint, r restart, ! "
      "lost, . idle");
  return table;
}

Table spares_table(const app::JobAnswer& answer) {
  Table table{.name = "spares", .title = "Spare nodes"};
  table.columns = {{"spares", "spares"},
                   {"policy", "policy"},
                   {"samples_per_s", "samples/s"},
                   {"useful", "useful", Unit::kShare},
                   {"idle", "idle", Unit::kShare}};
  if (answer.usd_per_hour)
    table.columns.push_back({"usd_per_million_samples", "$/M samples", Unit::kUsd});
  for (const app::JobAnswer::Spares& own : answer.spares)
    for (const JobPlay& play : own.plays) {
      std::vector<Cell> row{own.spares, play.policy, play.samples_per_s(),
                            play.share(Activity::kUseful), play.share(Activity::kIdle)};
      if (const auto usd = answer.usd(play))
        row.push_back(play.samples > 0 ? Cell(*usd / play.samples * 1e6) : Cell());
      table.rows.push_back(std::move(row));
    }
  return table;
}

Table interval_table(const app::JobAnswer::Intervals& own) {
  Table table{.name = "checkpoint_interval", .title = "Checkpoint interval (policy restart)"};
  table.columns = {{"rule", "rule"},
                   {"interval_s", "interval", Unit::kSeconds},
                   {"useful", "useful", Unit::kShare}};
  table.rows = {{"Young", own.young, Cell()},
                {"Daly", own.daly, own.useful_daly},
                {"simulated optimum", own.simulated, own.useful_simulated}};
  table.notes.push_back(
      fmt::format("one checkpoint takes {}; some node of the plan fails every "
                  "{} on average",
                  format_seconds(Seconds{own.checkpoint}), format_seconds(Seconds{own.between})));
  return table;
}

Json play_json(const app::JobAnswer& answer, const JobPlay& play, bool with_events) {
  Json json;
  json["policy"] = play.policy;
  json["samples"] = play.samples;
  json["samples_per_s"] = play.samples_per_s();
  json["steps"] = play.steps;
  json["goodput"] = play.goodput();
  if (const auto usd = answer.usd(play)) {
    json["usd"] = *usd;
    json["usd_per_sample"] = play.samples > 0 ? Json(*usd / play.samples) : Json(nullptr);
  }
  for (const Activity a : kAll) json["shares"][std::string(to_string(a))] = play.share(a);
  json["checkpoints"] = play.checkpoints;
  json["checkpoint_every_s"] =
      play.checkpoint_every > 0 ? Json(play.checkpoint_every) : Json(nullptr);
  json["restarts"] = play.restarts;
  json["rollbacks"] = play.rollbacks;
  if (!with_events) return json;
  json["events"] = Json::array();
  for (const simulate::JobEvent& event : play.events)
    json["events"].push_back({{"time_s", event.time},
                              {"machines", event.machines},
                              {"added", event.added},
                              {"removed", event.removed},
                              {"what", event.what}});
  return json;
}

}  // namespace

Report job_report(const app::JobAnswer& answer, const Terminal& out) {
  Json json;
  json["availability"] = {
      {"name", answer.trace.name},         {"duration_s", answer.trace.duration()},
      {"least", answer.summary.least},     {"most", answer.summary.most},
      {"mean", answer.summary.mean},       {"added", answer.summary.added},
      {"removed", answer.summary.removed}, {"node_hours", answer.summary.node_hours}};
  json["policies"] = Json::array();
  for (const JobPlay& play : answer.plays)
    json["policies"].push_back(play_json(answer, play, true));
  // The job under the last policy that was asked for, as scripts look for it.
  const JobPlay& last = answer.plays.back();
  json["goodput"] = last.goodput();
  json["samples"] = last.samples;
  json["samples_per_s"] = last.samples_per_s();
  if (const auto usd = answer.usd(last)) json["usd"] = *usd;
  json["plans"] = Json::array();
  for (std::size_t n = 0; n < answer.rates.by_machines.size(); ++n) {
    const simulate::JobRate& own = answer.rates.by_machines[n];
    if (own.samples_per_s > 0)
      json["plans"].push_back({{"machines", n},
                               {"uses", own.machines},
                               {"samples_per_s", own.samples_per_s},
                               {"plan", own.plan}});
  }
  for (const app::JobAnswer::Spares& own : answer.spares) {
    Json row{{"spares", own.spares}, {"policies", Json::array()}};
    for (const JobPlay& play : own.plays) row["policies"].push_back(play_json(answer, play, false));
    json["spares"].push_back(std::move(row));
  }
  if (answer.intervals)
    json["checkpoint_interval"] = {{"young_s", answer.intervals->young},
                                   {"daly_s", answer.intervals->daly},
                                   {"simulated_s", answer.intervals->simulated},
                                   {"useful_daly", answer.intervals->useful_daly},
                                   {"useful_simulated", answer.intervals->useful_simulated}};
  json["assumptions"] = answer.assumptions;
  json["plan_seconds"] = answer.plan_seconds;
  json["seconds"] = answer.seconds;
  Report report{{policies_table(answer)}, json.dump()};
  if (answer.spares.size() > 1) report.tables.push_back(spares_table(answer));
  if (answer.intervals) report.tables.push_back(interval_table(*answer.intervals));
  report.tables.push_back(drawing_table(answer, out));
  return report;
}

}  // namespace nereus::api
