#include "app/recommend/recommend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "app/recommend/recommend_machines.hpp"
#include "app/recommend/recommend_mixes.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "plan/complete.hpp"
#include "simulate/job/availability_file.hpp"

namespace nereus::app {

namespace {

constexpr int kUsualSamples = 1024;  // of a model without tokens
constexpr int kMostMachines = 512;

std::optional<std::chrono::sys_days> parse_date(const std::string& text) {
  int parts[3] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int& part : parts) {
    const auto read = std::from_chars(at, end, part);
    if (read.ec != std::errc()) return std::nullopt;
    at = read.ptr + (read.ptr < end ? 1 : 0);
  }
  const std::chrono::year_month_day day{std::chrono::year(parts[0]),
                                        std::chrono::month(static_cast<unsigned>(parts[1])),
                                        std::chrono::day(static_cast<unsigned>(parts[2]))};
  return day.ok() ? std::optional(std::chrono::sys_days(day)) : std::nullopt;
}

int days_between(const std::string& from, const std::chrono::sys_days& to) {
  const auto day = parse_date(from);
  return day ? std::max(0, static_cast<int>((to - *day).count())) : -1;
}

int batch_of(const RecommendRequest& request, const Inputs& any) {
  if (request.global_batch) return *request.global_batch;
  return any.model.tokens_per_sample > 0 ? plan::default_global_batch(any.model, any.cluster)
                                         : kUsualSamples;
}

void check_work(const RecommendRequest& request, const model::Model& model) {
  ErrorList errors;
  if ((request.samples > 0) + (request.tokens > 0) + !request.samples_to_target.empty() != 1)
    errors.add("recommend.work", "give exactly one of --samples, --tokens and --samples-to-target",
               {}, "--samples 115e6, --tokens 1e12 or --samples-to-target auto");
  else if (request.tokens > 0 && model.tokens_per_sample <= 0)
    errors.add("recommend.work", fmt::format("{} has no tokens", model.name), {}, "--samples N");
  errors.throw_if_any();
}

void note_target(const SamplesToTarget& target, const model::Model& model,
                 std::vector<std::string>& notes) {
  if (!target.model.empty() && target.model != model.name)
    notes.push_back(fmt::format("the samples of {} were measured for {}, not for {}", target.name,
                                target.model, model.name));
  if (target.seq > 0 && model.tokens_per_sample > 0 && target.seq != model.tokens_per_sample)
    notes.push_back(fmt::format("the samples of {} have {} tokens, not {}; use --seq {}",
                                target.name, format_count(target.seq),
                                format_count(static_cast<std::int64_t>(model.tokens_per_sample)),
                                target.seq));
}

// The job by the sizes of batch that may be taken: one, but for targets.
std::vector<BatchWork> works_of(const RecommendRequest& request, const Inputs& any,
                                RecommendAnswer& answer) {
  check_work(request, any.model);
  std::vector<int> batches = {batch_of(request, any)};
  if (!request.samples_to_target.empty()) {
    const bool by_model = request.samples_to_target == "auto";
    answer.target = read_samples_to_target(by_model ? any.model.name : request.samples_to_target);
    note_target(*answer.target, any.model, answer.notes);
    if (!request.global_batch) batches = batches_of(*answer.target);
  }
  std::vector<BatchWork> works;
  for (const int batch : batches) {
    const double samples = answer.target        ? answer.target->samples(batch)
                           : request.tokens > 0 ? request.tokens / any.model.tokens_per_sample
                                                : request.samples;
    works.push_back({batch, std::ceil(samples / batch)});
  }
  if (works.size() == 1) {
    answer.global_batch = works[0].batch;
    answer.steps = works[0].steps;
  }
  return works;
}

class Recommending {
 public:
  Recommending(const RecommendRequest& request, Machines& machines, const rent::Terms& terms)
      : machines_(machines), terms_(terms) {
    const auto day = parse_date(request.date);
    if (!day)
      throw_input_error("recommend.date", fmt::format("'{}' is not a date", request.date), {},
                        "2026-11-16");
    today_ = *day;
  }

  RecommendOption option_of(const rent::Choice& choice) {
    const cluster::Offer& offer = machines_.offer(choice.kind);
    const FoundPlan plan = machines_.found(choice.kind, choice.machines);
    const rent::Kind& kind = machines_.kinds()[choice.kind];
    const rent::Tariff& tariff = kind.tariffs[choice.tariff];
    RecommendOption o;
    o.provider = offer.node.provider;
    o.offer = offer.node.name;
    o.count = choice.machines;
    o.spot = tariff.spot;
    o.global_batch = plan.work.batch;
    o.steps = plan.work.steps;
    o.degrees = plan.degrees;
    o.compute = plan.step;
    o.parts = plan.parts;
    o.feed = machines_.feed(choice.kind, choice.machines, o.global_batch);
    o.step = std::max(plan.step, o.feed.seconds());
    o.hours = choice.hours;
    o.usd = choice.usd;
    o.usd_per_hour = tariff.usd_per_hour * choice.machines;
    o.goodput = tariff.spot ? machines_.goodput(choice.kind, choice.machines) : 1;
    o.meets_deadline = choice.hours <= terms_.deadline_hours;
    o.price_date = offer.node.price.date;
    o.price_age_days = days_between(o.price_date, today_);
    const cost::Stack& stack = machines_.basis(choice.kind).stack;
    if (stack.errors)
      o.error = stack.errors->band(
          cost::Quantity::kStep,
          cost::conditions_of(machines_.model(), {choice.machines, offer.node},
                              choice.machines * offer.node.num_devices, o.degrees, stack, 0));
    add_interval(&offer, o);
    return o;
  }

  void date_mix(RecommendOption& mix) const {
    mix.price_age_days = days_between(mix.price_date, today_);
    add_interval(nullptr, mix);
  }

 private:
  // For mixes, prices by zone are not separated: `offer` is null.
  void add_interval(const cluster::Offer* offer, RecommendOption& o) const {
    double low = 1, high = 1;
    if (o.spot) {
      const bool stated = offer && offer->spot_min.value > 0 && offer->spot_max.value > 0;
      low = stated ? offer->spot_min.value / offer->node.price.spot.value : 1 - kSpotSpread;
      high = stated ? offer->spot_max.value / offer->node.price.spot.value : 1 + kSpotSpread;
    } else {
      const double drift = kPriceDrift * std::max(0, o.price_age_days) / 365.25;
      low = std::max(0.0, 1 - drift);
      high = 1 + drift;
    }
    o.usd_low = o.usd * low * (o.error ? std::exp(o.error->low()) : 1 - kUnknownError);
    o.usd_high = o.usd * high * (o.error ? std::exp(o.error->high()) : 1 + kUnknownError);
  }

  Machines& machines_;
  const rent::Terms terms_;
  std::chrono::sys_days today_;
};

// Offers that have a price and can be predicted, but are in no option: what keeps them out.
void account_for(Machines& machines, const std::vector<int>& counts, const rent::Terms& terms,
                 const rent::Rented& rented, std::vector<OfferRefusal>& refused) {
  for (int k = 0; k < static_cast<int>(machines.kinds().size()); ++k) {
    if (std::any_of(rented.best.begin(), rented.best.end(),
                    [&](const rent::Choice& c) { return c.kind == k; }))
      continue;
    const rent::Kind& kind = machines.kinds()[k];
    double least = rent::kNever;
    for (const int n : counts)
      if (n <= kind.most) least = std::min(least, terms.start_hours + kind.least_hours(n));
    const cluster::Node& node = machines.offer(k).node;
    const std::string what =
        least > terms.deadline_hours
            ? fmt::format(
                  "it takes at least {} h even at its peak rate{}", format_significant(least),
                  kind.most == 1 ? ", and its network is unknown, so only one machine is tried"
                                 : "")
            : "no number of machines has a plan that fits and meets the limits";
    refused.push_back({node.provider, node.name, what});
  }
}

std::vector<std::string> why_lines(Recommending& recommending, Machines& machines,
                                   const std::vector<int>& counts, rent::Terms terms,
                                   const RecommendAnswer& answer, const std::string& offer) {
  std::vector<std::string> lines;
  for (const OfferRefusal& own : answer.refused)
    if (own.offer == offer) lines.push_back(own.reason);
  terms.deadline_hours = terms.budget_usd = rent::kNever;
  for (int k = 0; k < static_cast<int>(machines.kinds().size()); ++k) {
    if (machines.offer(k).node.name != offer) continue;
    const rent::Rented own = rent::rent({machines.kinds()[k]}, counts, terms);
    if (own.front.empty())
      lines.emplace_back(
          "the model does not fit on any number of these "
          "machines");
    for (rent::Choice choice : own.front) {
      choice.kind = k;
      const RecommendOption o = recommending.option_of(choice);
      lines.push_back(fmt::format("{}{}: {} h, {}", counted(o.count, "machine"),
                                  o.spot ? ", spot" : "", format_significant(o.hours),
                                  human(o.usd, Unit::kUsd)));
    }
  }
  if (lines.empty())
    throw_input_error("recommend.no-offer", fmt::format("there is no offer '{}'", offer), {},
                      "nereus catalog offers lists them");
  return lines;
}

// It is better than all other options: the first of them. It may be on the front.
void add_mix(const RecommendOption& mix, RecommendAnswer& answer) {
  answer.options.insert(answer.options.begin(), mix);
  const auto beaten = [](const RecommendOption& a, const RecommendOption& b) {
    return b.hours <= a.hours && b.usd <= a.usd;
  };
  if (std::any_of(answer.front.begin(), answer.front.end(),
                  [&](const RecommendOption& o) { return beaten(mix, o); }))
    return;
  std::erase_if(answer.front, [&](const RecommendOption& o) { return beaten(o, mix); });
  answer.front.insert(std::find_if(answer.front.begin(), answer.front.end(),
                                   [&](const RecommendOption& o) { return o.hours > mix.hours; }),
                      mix);
}

}  // namespace

RecommendAnswer recommend(const RecommendRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  RecommendAnswer answer;
  const Inputs any = load_inputs(request.model, request.seq, {"1xdgx-h100"}, {});
  answer.model = any.model;
  const std::vector<BatchWork> works = works_of(request, any, answer);
  answer.preemptions = rent::preemptions_of(simulate::read_availability(request.trace));
  std::vector<int> counts = request.counts;
  if (counts.empty())
    for (int n = 1; n <= kMostMachines; n *= 2) counts.push_back(n);
  rent::Terms terms;
  terms.deadline_hours = request.deadline_hours.value_or(rent::kNever);
  terms.budget_usd = request.budget_usd.value_or(rent::kNever);
  terms.start_hours = request.start_seconds / 3600;

  Machines machines(request, answer.model, works, answer.preemptions);
  Recommending recommending(request, machines, terms);
  answer.num_offers = machines.num_offers();
  answer.refused = machines.refused();
  const rent::Rented rented = rent::rent(machines.kinds(), counts, terms);
  answer.asked = rented.asked;
  answer.cut = rented.cut;
  for (const rent::Choice& choice : rented.best)
    answer.options.push_back(recommending.option_of(choice));
  for (const rent::Choice& choice : rented.front)
    answer.front.push_back(recommending.option_of(choice));
  if (request.mixes) {
    const BatchWork work = answer.options.empty() ? works.front()
                                                  : BatchWork{answer.options.front().global_batch,
                                                              answer.options.front().steps};
    MixSearch found = find_mix(request, answer.model, work, machines, rented, counts, terms);
    answer.mixes_planned = found.planned;
    answer.mixes_cut = found.cut;
    answer.mixes_left_out = found.left_out;
    answer.no_mixes = found.why_not;
    if (found.option) {
      recommending.date_mix(*found.option);
      add_mix(*found.option, answer);
    }
  }
  for (RecommendOption& o : answer.options)
    if (o.mix.empty())
      o.break_even = o.usd_per_hour / o.count * std::min(1.0, answer.options.front().usd / o.usd);
  if (rented.nearest && answer.options.empty())
    answer.nearest = recommending.option_of(*rented.nearest);
  account_for(machines, counts, terms, rented, answer.refused);
  if (!request.why.empty())
    answer.why = why_lines(recommending, machines, counts, terms, answer, request.why);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return answer;
}

}  // namespace nereus::app
