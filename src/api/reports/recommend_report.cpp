#include "api/reports/recommend_report.hpp"

#include <fmt/format.h>

#include "api/form/json.hpp"
#include "api/reports/degrees_json.hpp"
#include "api/reports/plan_text.hpp"
#include "api/reports/prediction_report.hpp"
#include "base/format.hpp"

namespace nereus::api {

namespace {

using app::RecommendAnswer;
using app::RecommendOption;
std::string plan_text(const RecommendOption& o) {
  return o.mix.empty() ? fmt::format("{}, {}", layout_text(o.degrees), manner_text(o.degrees))
                       : "two kinds: " + o.family;
}

// What limits the speed of a step.
std::string pace_text(const RecommendOption& o) {
  if (o.step <= o.compute) return "devices";
  return o.feed.prepare >= o.feed.fetch ? "preparing data" : "reading data";
}

std::string age_text(const RecommendOption& o) {
  if (o.price_age_days < 0) return "no date";
  return fmt::format("{} d{}", o.price_age_days, o.old_price() ? " !" : "");
}

Json option_json(const RecommendOption& o) {
  Json json;
  json["offer"] = o.offer;
  json["provider"] = o.provider;
  json["count"] = o.count;
  json["spot"] = o.spot;
  json["global_batch"] = o.global_batch;
  json["steps"] = o.steps;
  if (o.mix.empty()) {
    json["plan"] = degrees_json(o.degrees);
  } else {
    json["plan"] = {{"family", o.family}};
    for (const app::MixPart& part : o.mix)
      json["mix"].push_back(
          {{"offer", part.offer}, {"count", part.count}, {"usd_per_hour", part.usd_per_hour}});
  }
  json["hours"] = o.hours;
  json["usd"] = o.usd;
  json["low"] = o.usd_low;
  json["high"] = o.usd_high;
  json["meets_deadline"] = o.meets_deadline;
  if (o.spot) json["expected_goodput"] = o.goodput;
  json["step_s"] = o.step;
  json["compute_s"] = o.compute;
  json["prepare_s"] = o.feed.prepare;
  json["fetch_s"] = o.feed.fetch;
  json["usd_per_hour"] = o.usd_per_hour;
  json["break_even_usd_per_hour"] = o.break_even > 0 ? Json(o.break_even) : Json(nullptr);
  json["price_date"] = o.price_date;
  json["price_age_days"] = o.price_age_days >= 0 ? Json(o.price_age_days) : Json(nullptr);
  json["price_is_old"] = o.old_price();
  json["expected_error"] = band_json(o.error);
  return json;
}

// The batch is a column if it was chosen.
std::vector<Column> option_columns(const RecommendAnswer& answer) {
  std::vector<Column> columns = {{"machines", "machines"},
                                 {"provider", "provider", Unit::kNone, false, false, 3},
                                 {"usd", "dollars", Unit::kUsd},
                                 {"interval", "range", Unit::kNone, false, false, 1},
                                 {"hours", "hours"},
                                 {"goodput", "goodput", Unit::kShare, false, false, 2},
                                 {"pace", "waits for", Unit::kNone, false, false, 4},
                                 {"price_age", "price age", Unit::kNone, false, false, 2},
                                 {"break_even", "wins below", Unit::kUsdPerHour, false, false, 5},
                                 {"plan", "plan", Unit::kNone, false, true}};
  if (answer.global_batch == 0) columns.insert(columns.end() - 1, {"batch", "batch"});
  return columns;
}

std::vector<Cell> option_row(const RecommendAnswer& answer, const RecommendOption& o) {
  std::vector<Cell> row = {
      machines_text(o),
      o.provider,
      o.usd,
      fmt::format("{} .. {}", human(o.usd_low, Unit::kUsd), human(o.usd_high, Unit::kUsd)),
      format_significant(o.hours),
      o.spot ? Cell(o.goodput) : Cell(),
      pace_text(o),
      age_text(o),
      o.break_even > 0 ? Cell(o.break_even) : Cell(),
      plan_text(o)};
  if (answer.global_batch == 0) row.insert(row.end() - 1, o.global_batch);
  return row;
}

std::string work_text(const RecommendAnswer& answer) {
  if (answer.global_batch > 0)
    return fmt::format(
        "{} in {} of {}",
        counted(format_count(static_cast<std::int64_t>(answer.steps * answer.global_batch)),
                "sample"),
        counted(format_count(static_cast<std::int64_t>(answer.steps)), "step"),
        format_count(answer.global_batch));
  return fmt::format("to the target of {}", answer.target->name);
}

std::string terms_text(const app::RecommendRequest& request) {
  std::string text;
  if (request.deadline_hours)
    text += fmt::format(", within {} h", format_significant(*request.deadline_hours));
  if (request.budget_usd)
    text += fmt::format(", for {} at most", human(*request.budget_usd, Unit::kUsd));
  return text;
}

void add_notes(const RecommendAnswer& answer, const app::RecommendRequest& request, Table& table) {
  std::vector<std::string>& notes = table.notes;
  notes.push_back(
      fmt::format("{}: {} planned, {}, in {}", counted(answer.num_offers, "offer"),
                  counted(format_count(answer.asked), "machine count"),
                  counted(format_count(answer.cut), "pruned because it cannot be better",
                          "pruned because they cannot be better"),
                  human(answer.seconds, Unit::kSeconds)));
  if (request.mixes)
    notes.push_back(
        !answer.no_mixes.empty()
            ? fmt::format("mixes of two offers were not tried: {}", answer.no_mixes)
            : fmt::format(
                  "mixes of two offers: {} planned, {}{}", format_count(answer.mixes_planned),
                  counted(format_count(answer.mixes_cut), "pruned because it cannot be better",
                          "pruned because they cannot be better"),
                  answer.mixes_left_out > 0 ? fmt::format(", {} skipped that could be better",
                                                          format_count(answer.mixes_left_out))
                                            : ""));
  for (const RecommendOption& o : answer.options)
    if (!o.mix.empty())
      notes.push_back(
          fmt::format("to get the plan for {0}: nereus plan --cluster '{0}' "
                      "--global-batch {1}",
                      o.offer, o.global_batch));
  if (answer.target) {
    const app::SamplesToTarget& t = *answer.target;
    notes.push_back(
        fmt::format("samples needed to reach the target of {}: {} (1 + batch / {}){}", t.name,
                    format_significant(t.least), format_significant(t.critical),
                    t.largest > 0 ? fmt::format(", measured for batches from {} to {}",
                                                format_count(static_cast<std::int64_t>(t.smallest)),
                                                format_count(static_cast<std::int64_t>(t.largest)))
                                  : ""));
  }
  notes.insert(notes.end(), answer.notes.begin(), answer.notes.end());
  if (request.spot)
    notes.push_back(
        fmt::format("spot machines: each machine is lost {} times per hour, and {} of them are "
                    "available on average (as in {}; --trace selects another trace)",
                    format_significant(answer.preemptions.per_second * 3600),
                    human(answer.preemptions.present, Unit::kShare), request.trace));
  notes.push_back(fmt::format(
      "range: allows for the 80 % interval of the step (+- {} if nothing is known of such runs) "
      "and "
      "for price changes ({} per year of age for on-demand prices; the spread over zones, or else "
      "+- {}, for spot prices)",
      human(app::kUnknownError, Unit::kShare), human(app::kPriceDrift, Unit::kShare),
      human(app::kSpotSpread, Unit::kShare)));
  if (request.feed.core_seconds <= 0 && request.feed.sample_bytes <= 0)
    notes.emplace_back(
        "data is assumed to be ready when needed; --prepare, --sample-bytes and --disk set its "
        "cost");
  if (!answer.refused.empty())
    notes.push_back(fmt::format(
        "{} excluded, and --why OFFER shows the reason; ! = the price is older than {} days",
        counted(answer.refused.size(), "offer is", "offers are"), app::kOldPriceDays));
}

}  // namespace

std::string machines_text(const RecommendOption& o) {
  const std::string what = o.mix.empty() ? fmt::format("{}x{}", o.count, o.offer) : o.offer;
  return what + (o.spot ? " spot" : "");
}

Report recommend_report(const RecommendAnswer& answer, const app::RecommendRequest& request) {
  Report report;
  const std::string title =
      fmt::format("{}: {}{}", answer.model.name, work_text(answer), terms_text(request));
  Table options{.name = "options", .title = title, .columns = option_columns(answer)};
  const auto shown = static_cast<std::size_t>(request.top);
  for (std::size_t i = 0; i < answer.options.size() && i < shown; ++i)
    options.rows.push_back(option_row(answer, answer.options[i]));
  if (answer.options.size() > shown)
    options.notes.push_back(fmt::format(
        "{} the limits; --top shows more",
        counted(answer.options.size() - shown, "more option meets", "more options meet")));
  if (answer.options.empty()) options.notes.emplace_back("no machines meet these limits");
  add_notes(answer, request, options);
  report.tables.push_back(std::move(options));

  if (answer.nearest) {
    Table nearest{.name = "nearest",
                  .title = request.deadline_hours ? "The fastest option" : "The cheapest option",
                  .columns = option_columns(answer)};
    nearest.rows.push_back(option_row(answer, *answer.nearest));
    report.tables.push_back(std::move(nearest));
  }
  Table front{
      .name = "front", .title = "Pareto front of time and cost", .columns = option_columns(answer)};
  for (const RecommendOption& o : answer.front) front.rows.push_back(option_row(answer, o));
  report.tables.push_back(std::move(front));
  if (!request.why.empty()) {
    Table why{
        .name = "why", .title = "Reasons against " + request.why, .columns = {{"line", "because"}}};
    why.columns.front().wrap = true;
    for (const std::string& line : answer.why) why.rows.push_back({line});
    report.tables.push_back(std::move(why));
  }

  Json json;
  json["model"] = answer.model.name;
  json["global_batch"] = answer.global_batch > 0 ? Json(answer.global_batch) : Json(nullptr);
  json["steps"] = answer.global_batch > 0 ? Json(answer.steps) : Json(nullptr);
  if (answer.target)
    json["samples_to_target"] = {{"name", answer.target->name},
                                 {"least_samples", answer.target->least},
                                 {"critical_batch", answer.target->critical}};
  json["notes"] = answer.notes;
  json["options"] = Json::array();
  for (const RecommendOption& o : answer.options) json["options"].push_back(option_json(o));
  json["front"] = Json::array();
  for (const RecommendOption& o : answer.front) json["front"].push_back(option_json(o));
  json["nearest"] = answer.nearest ? option_json(*answer.nearest) : Json(nullptr);
  json["refused"] = Json::array();
  for (const app::OfferRefusal& own : answer.refused)
    json["refused"].push_back(
        {{"provider", own.provider}, {"offer", own.offer}, {"reason", own.reason}});
  if (!request.why.empty()) json["why"] = answer.why;
  json["preemptions_per_hour"] = answer.preemptions.per_second * 3600;
  json["present"] = answer.preemptions.present;
  json["offers"] = answer.num_offers;
  json["planned"] = answer.asked;
  json["cut"] = answer.cut;
  json["mixes_planned"] = answer.mixes_planned;
  json["mixes_cut"] = answer.mixes_cut;
  json["mixes_left_out"] = answer.mixes_left_out;
  json["seconds"] = answer.seconds;
  report.json = json.dump();
  return report;
}

}  // namespace nereus::api
