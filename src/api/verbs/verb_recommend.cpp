#include <fmt/format.h>

#include <chrono>

#include "api/form/exit_codes.hpp"
#include "api/reports/recommend_pictures.hpp"
#include "api/reports/recommend_report.hpp"
#include "api/verbs/enum_choices.hpp"
#include "api/verbs/lists.hpp"
#include "api/verbs/quantity_option.hpp"
#include "api/verbs/verbs.hpp"
#include "app/recommend/recommend.hpp"
#include "base/error.hpp"
#include "base/write_file.hpp"

namespace nereus::api {

namespace {

struct RecommendOptions {
  app::RecommendRequest recommend;
  std::optional<double> samples, tokens;
  std::optional<int> top;
  bool no_spot = false, only_spot = false, no_mixes = false;
  OutputOptions output;
  std::string picture, bars, page;
};

std::string today() {
  const std::chrono::year_month_day day{
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

void add_job_options(Command& command, RecommendOptions& request) {
  app::RecommendRequest* const r = &request.recommend;
  command.group("Job");
  command.number("--samples", request.samples, "total number of training samples; or");
  command.number("--tokens", request.tokens, "total number of training tokens, such as 1e12; or");
  command.text(
      "--samples-to-target", "auto|NAME|LEAST:CRITICAL", r->samples_to_target,
      "as many samples as a target accuracy needs: LEAST * (1 + batch / CRITICAL); auto and NAME "
      "use the known numbers of a model; also chooses the batch unless --global-batch is "
      "given");
  add_quantity<Seconds>(
      command, "--deadline", "TIME", 1, [r](double v) { r->deadline_hours = v / 3600; },
      "find the cheapest machines that finish within this time, such as 24h or 30d");
  command.number("--budget", r->budget_usd,
                 "find the fastest machines that cost at most this "
                 "many dollars");
  command.whole("--global-batch", r->global_batch, 1,
                "samples per step (default: about four million tokens, or 1,024 images)");
  command.whole("--seq", r->seq, 1, "tokens per sample");
  command.choice("--precision", choices_of(r->precision), "precision of matrix products");
  add_quantity<Seconds>(
      command, "--start-time", "TIME", 0, [r](double v) { r->start_seconds = v; },
      "time from requesting machines to the first step (default: 10min)");
}

void add_feed_options(Command& command, app::RecommendRequest& request) {
  app::RecommendRequest* const r = &request;
  command.group("Data (costs that are not given are ignored)");
  add_quantity<Seconds>(
      command, "--prepare", "TIME", 0, [r](double v) { r->feed.core_seconds = v; },
      "time of one core to decode and augment one sample");
  add_quantity<Bytes>(
      command, "--sample-bytes", "SIZE", 0, [r](double v) { r->feed.sample_bytes = v; },
      "size of one sample on disk");
  add_quantity<Bytes>(
      command, "--dataset-bytes", "SIZE", 0, [r](double v) { r->feed.dataset_bytes = v; },
      "size of all samples; samples that fit in a machine's memory are read only once");
  add_quantity<BytesPerSecond>(
      command, "--disk", "RATE", 1, [r](double v) { r->feed.disk = v; },
      "rate at which one machine reads, such as 1 GB/s");
}

void add_offer_options(Command& command, RecommendOptions& request) {
  app::RecommendRequest& r = request.recommend;
  command.group("Machines");
  command.texts("--offer", "PART", r.offers,
                "use only offers whose name, or whose provider's name, contains this; may be "
                "repeated");
  command.text(
      "--offers", "FILE.csv", r.offers_file,
      "use your own list instead of the catalogue, with the columns of data/catalog/offers.csv");
  command.list("--counts", whole_list("--counts", r.counts, 1),
               "machine counts to search (default: 1..512*2)");
  command.number(
      "--headroom", r.headroom,
      "share of device memory to leave free, such as 0.1 (default: as much as plans need "
      "to fit with 95 %)");
  command.flag("--no-spot", request.no_spot, "use on-demand prices only");
  command.flag("--only-spot", request.only_spot, "use spot prices only");
  command.flag("--no-mixes", request.no_mixes, "do not try mixes of two offers");
  command.text("--trace", "FILE|TRACE", r.trace,
               "trace of when spot machines are available, in a form that simulate --availability "
               "reads (default: bamboo/p3-trace.csv)");
  command.text("--date", "YYYY-MM-DD", r.date,
               "date at which the age of prices is computed "
               "(default: today)");
  command.text("--why", "OFFER", r.why, "show why this offer is excluded, or what it would cost");
  command.whole("--top", request.top, 1,
                "number of options to show (default: 10); JSON contains "
                "all");
}

app::RecommendRequest finished(const RecommendOptions& request) {
  app::RecommendRequest r = request.recommend;
  r.samples = request.samples.value_or(0);
  r.tokens = request.tokens.value_or(0);
  r.top = request.top.value_or(10);
  r.on_demand = !request.only_spot;
  r.spot = !request.no_spot;
  r.mixes = !request.no_mixes;
  if (r.date.empty()) r.date = today();
  ErrorList errors;
  const auto positive = [&](const char* name, const std::optional<double>& value) {
    if (value && !(*value > 0 && *value < 1e30))
      errors.add("cli.bad-value", fmt::format("{} is {}", name, *value), {}, "a number above 0");
  };
  positive("--samples", request.samples);
  positive("--tokens", request.tokens);
  positive("--budget", r.budget_usd);
  if (r.headroom && !(*r.headroom >= 0 && *r.headroom < 1))
    errors.add("cli.bad-value",
               fmt::format("--headroom takes a share from 0 to 1, not {}", *r.headroom), {},
               "--headroom 0.1");
  if (request.no_spot && request.only_spot)
    errors.add("cli.bad-value", "--no-spot and --only-spot together leave no price");
  if (!r.calibration.profiles.empty())
    errors.add("recommend.profile", "--profile holds one model on one kind of machine", {},
               "use nereus plan --profile on the recommended machines");
  if (r.feed.sample_bytes > 0 && r.feed.disk <= 0)
    errors.add("recommend.disk",
               "--sample-bytes needs --disk, because offers do not say how fast a machine reads",
               {}, "--disk '1 GB/s'");
  errors.throw_if_any();
  return r;
}

}  // namespace

Verb recommend_verb(Caller& caller) {
  auto request = std::make_shared<RecommendOptions>();
  auto command = std::make_unique<Command>("recommend",
                                           "find which machines to rent for a whole training job");
  add_model_options(*command, request->recommend.model);
  add_set_option(*command, &request->recommend.model, nullptr);
  add_job_options(*command, *request);
  add_offer_options(*command, *request);
  add_feed_options(*command, request->recommend);
  add_calibration_options(*command, request->recommend.calibration);
  add_output_options(*command, request->output);
  command->text("--svg", "FILE", request->picture, "draw dollars against hours");
  command->text("--bars", "FILE", request->bars, "draw where each offer's time goes (SVG)");
  command->text("--html", "FILE", request->page, "write both pictures and the tables as one page");
  command->about(
      "Plans the training job on every offer of the catalogue, for every number of machines, on "
      "demand and spot. It shows the best option of each offer: the cheapest that finishes within "
      "--deadline, or the fastest within --budget. It also shows the Pareto front of time and "
      "cost. Only plans that fit in memory are recommended. If nothing meets the deadline or "
      "budget, it shows the option that comes closest (exit code 3).");
  command->example("nereus recommend --model llama2-7b --tokens 1e12 --deadline 30d",
                   "the cheapest machines for a trillion tokens in a month");
  command->example(
      "nereus recommend --model resnet50 --samples 115e6 --deadline 24h --prepare 8ms "
      "--sample-bytes '114 kB' --dataset-bytes '146 GB' --disk '1 GB/s'",
      "90 epochs of ImageNet in a day, with its decoding and reading");
  command->example(
      "nereus recommend --model bert-large --samples 1e9 --budget 2000 --why p3.16xlarge",
      "the fastest machines for 2,000 dollars, and what one offer would take");
  command->example("nereus recommend --model resnet50 --samples-to-target auto --deadline 2h",
                   "choose batch and machines together, to reach MLPerf's accuracy");
  command->run = [&caller, request] {
    const app::RecommendRequest wanted = finished(*request);
    const app::RecommendAnswer answer = app::recommend(wanted);
    if (!request->picture.empty()) write_file(request->picture, recommend_scatter(answer));
    if (!request->bars.empty()) write_file(request->bars, recommend_bars(answer, wanted));
    if (!request->page.empty()) write_file(request->page, recommend_page(answer, wanted));
    caller.answer(recommend_report(answer, wanted), request->output);
    return answer.options.empty() ? kNothingFeasible : kDone;
  };
  return command;
}

}  // namespace nereus::api
