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
  command.number("--samples", request.samples, "samples of the whole training; or");
  command.number("--tokens", request.tokens, "tokens of it, as in 1e12; or");
  command.text("--samples-to-target", "auto|NAME|LEAST:CRITICAL", r->samples_to_target,
               "as many as a target takes, LEAST (1 + batch / CRITICAL), known of some models; the "
               "batch is chosen too, unless --global-batch is given");
  add_quantity<Seconds>(
      command, "--deadline", "TIME", 1, [r](double v) { r->deadline_hours = v / 3600; },
      "the cheapest that end within it: 24h, 30d");
  command.number("--budget", r->budget_usd, "dollars: the quickest that cost no more");
  command.whole("--global-batch", r->global_batch, 1,
                "samples of one step (about four million tokens; 1,024 images)");
  command.whole("--seq", r->seq, 1, "tokens of one sample");
  command.choice("--precision", choices_of(r->precision), "of matrix products");
  add_quantity<Seconds>(
      command, "--start-time", "TIME", 0, [r](double v) { r->start_seconds = v; },
      "from asking for machines to the first step (10min)");
}

void add_feed_options(Command& command, app::RecommendRequest& request) {
  app::RecommendRequest* const r = &request;
  command.group("Data (what is not given is not counted)");
  add_quantity<Seconds>(
      command, "--prepare", "TIME", 0, [r](double v) { r->feed.core_seconds = v; },
      "of one core for one sample: decoding, augmenting");
  add_quantity<Bytes>(
      command, "--sample-bytes", "SIZE", 0, [r](double v) { r->feed.sample_bytes = v; },
      "of one sample on disk");
  add_quantity<Bytes>(
      command, "--dataset-bytes", "SIZE", 0, [r](double v) { r->feed.dataset_bytes = v; },
      "of all: what fits a machine's memory is read once");
  add_quantity<BytesPerSecond>(
      command, "--disk", "RATE", 1, [r](double v) { r->feed.disk = v; },
      "that one machine reads: 1 GB/s");
}

void add_offer_options(Command& command, RecommendOptions& request) {
  app::RecommendRequest& r = request.recommend;
  command.group("Machines");
  command.texts("--offer", "PART", r.offers,
                "only offers with this in their provider's or own name; may be repeated");
  command.text(
      "--offers", "FILE.csv", r.offers_file,
      "your own list, in the columns of data/catalog/offers.csv, instead of the catalogue");
  command.list("--counts", whole_list("--counts", r.counts, 1),
               "numbers of machines to look at (1..512*2)");
  command.flag("--no-spot", request.no_spot, "on-demand prices alone");
  command.flag("--only-spot", request.only_spot, "spot prices alone");
  command.flag("--no-mixes", request.no_mixes,
               "one offer at a time; else pairs of a provider's best are tried too");
  command.text("--trace", "FILE|TRACE", r.trace,
               "how often spot machines go, as simulate --availability reads it "
               "(bamboo/p3-trace.csv)");
  command.text("--date", "YYYY-MM-DD", r.date, "that prices' ages are counted to (today)");
  command.text("--why", "OFFER", r.why, "what keeps this offer out, or what it would cost");
  command.whole("--top", request.top, 1, "how many to show (10); JSON has all");
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
  if (request.no_spot && request.only_spot)
    errors.add("cli.bad-value", "--no-spot and --only-spot leave no price");
  if (!r.calibration.profiles.empty())
    errors.add("recommend.profile", "--profile is of one model on one kind of machine", {},
               "nereus plan --profile, on the machines that were recommended");
  if (r.feed.sample_bytes > 0 && r.feed.disk <= 0)
    errors.add("recommend.disk",
               "--sample-bytes without --disk: how fast a machine reads is not "
               "in the offers",
               {}, "--disk '1 GB/s'");
  errors.throw_if_any();
  return r;
}

}  // namespace

Verb recommend_verb(Caller& caller) {
  auto request = std::make_shared<RecommendOptions>();
  auto command =
      std::make_unique<Command>("recommend", "which machines to rent for a whole training");
  add_model_options(*command, request->recommend.model);
  add_set_option(*command, &request->recommend.model, nullptr);
  add_job_options(*command, *request);
  add_offer_options(*command, *request);
  add_feed_options(*command, request->recommend);
  add_calibration_options(*command, request->recommend.calibration);
  add_output_options(*command, request->output);
  command->text("--svg", "FILE", request->picture, "dollars against hours as a picture");
  command->text("--bars", "FILE", request->bars, "where each offer's time goes as a picture (SVG)");
  command->text("--html", "FILE", request->page, "both pictures and the tables as one page");
  command->about(
      "Plans the training on every offer of the catalogue, at every number of machines, on demand "
      "and spot, and shows the best of each offer: the cheapest that end within --deadline, or the "
      "quickest within --budget, and the front between. Nothing that does not fit is recommended. "
      "Where nothing meets the terms: exit code 3, with the quickest there is.");
  command->example("nereus recommend --model llama2-7b --tokens 1e12 --deadline 30d",
                   "the cheapest machines for a trillion tokens in a month");
  command->example(
      "nereus recommend --model resnet50 --samples 115e6 --deadline 24h --prepare 8ms "
      "--sample-bytes '114 kB' --dataset-bytes '146 GB' --disk '1 GB/s'",
      "90 epochs of ImageNet in a day, with its decoding and reading");
  command->example(
      "nereus recommend --model bert-large --samples 1e9 --budget 2000 --why p3.16xlarge",
      "the quickest for 2,000 dollars, and what an offer would take");
  command->example("nereus recommend --model resnet50 --samples-to-target auto --deadline 2h",
                   "to MLPerf's accuracy: batch and machines together");
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
