#include "app/plan/plan_verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/exchange/changes.hpp"
#include "app/exchange/export_plan.hpp"
#include "app/plan/plan_lift.hpp"
#include "app/plan/plan_mixed.hpp"
#include "app/plan/plan_mixed_binding.hpp"
#include "app/plan/plan_mixed_lift.hpp"
#include "app/predict/profiles.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "cost/pipeline_time.hpp"
#include "plan/check.hpp"
#include "plan/complete.hpp"
#include "plan/rules.hpp"
#include "predict/general/general_predictor.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

std::vector<cluster::Cluster> sizes_of(const cluster::Cluster& cluster,
                                       const std::vector<int>& nodes) {
  std::vector<cluster::Cluster> sizes;
  for (const int count : nodes) {
    sizes.push_back(cluster);
    sizes.back().groups.front().count = count;
    sizes.back().name = fmt::format("{}x{}", count, cluster.groups.front().node.name);
  }
  if (sizes.empty()) sizes.push_back(cluster);
  return sizes;
}

void check_request(const PlanRequest& request, const Inputs& inputs) {
  ErrorList errors;
  const search::Rates rates = search::rates_of(inputs.cluster);
  for (const search::Objective objective : request.options.objectives)
    if (!search::is_known(objective, rates))
      errors.add("plan.unknown-rate",
                 fmt::format("the {} of {} is not known",
                             objective == search::Objective::kMoney ? "price" : "power",
                             inputs.cluster.name),
                 {},
                 objective == search::Objective::kMoney
                     ? "--set 'cluster.groups.0.node.price.on_demand=\"$98/h\"'"
                     : "--objective time");
  plan::Degrees one;
  for (const plan::Offload& offload : request.choices.offloads) {
    one.offload = offload;
    const ErrorList wrong = plan::check_degrees(one, inputs.model, inputs.cluster);
    for (const Error& error : wrong.list())
      if (error.code == plan::code_of(plan::Rule::kTier)) errors.add(error);
  }
  errors.throw_if_any();
}

}  // namespace

void take_choices(const PlanRequest& request, PlanAnswer& answer) {
  answer.choices = request.choices;
  int& batch = answer.choices.global_batch;
  if (batch == 0) {
    batch = plan::default_global_batch(answer.inputs.model, answer.inputs.cluster);
    answer.derived.push_back("global_batch");
  }
  if (batch > plan::kMostSamples)
    throw_input_error("plan.too-large", fmt::format("--global-batch is {}", format_count(batch)),
                      {}, fmt::format("at most {}", format_count(plan::kMostSamples)));
}

namespace {

constexpr double kLikely = 0.5;  // less likely plans are not worth a mention

PlanAnswer plan_once(const PlanRequest& given, const ProgressSink& progress) {
  PlanAnswer answer;
  PlanRequest request = given;
  answer.inputs = load_inputs(request.model, request.seq, request.cluster, request.calibration);
  const Inputs& inputs = answer.inputs;
  if (request.engine && request.calibration.stack.empty()) {
    answer.inputs.basis =
        inputs.basis.with_stack(cost::load_stack(engine_stack(*request.engine, inputs.cluster)));
  }
  if (request.fits_probability > 0) {
    request.options.headroom = headroom_for(inputs, request.fits_probability);
    if (request.fits_probability > kLikely)
      request.options.least_headroom = headroom_for(inputs, kLikely);
  }
  answer.headroom = request.options.headroom;
  if (!request.precision && (request.precision = measured_precision(inputs.basis)))
    answer.derived.push_back("precision");
  if (!inputs.cluster.uniform()) {
    plan_mixed(request, answer, progress);
    if (answer.plans.empty() && answer.search.complete) {
      answer.binding = mixed_binding(request, answer);
      if (request.lifts) answer.lifts = find_mixed_lifts(request, answer);
    }
    return answer;
  }
  check_request(request, inputs);

  take_choices(request, answer);
  search::Choices& choices = answer.choices;
  plan::DegreesRequest wanted;
  wanted.precision = request.precision;
  choices.precision =
      plan::complete_degrees(wanted, inputs.model, inputs.cluster).degrees.precision;
  if (!request.precision) answer.derived.push_back("precision");
  check_precision(inputs.basis, choices.precision);
  if (!inputs.cluster.groups.front().node.device.has(choices.precision)) {
    plan::Degrees one;
    one.precision = choices.precision;
    const ErrorList wrong = plan::check_degrees(one, inputs.model, inputs.cluster);
    for (const Error& error : wrong.list())
      if (error.code == plan::code_of(plan::Rule::kPrecision)) throw Errors({error});
  }
  answer.inputs.basis = answer.inputs.basis.in_precision(choices.precision, choices.state_types);

  const std::vector<cluster::Cluster> clusters = sizes_of(inputs.cluster, request.nodes);
  search::SearchOptions options = request.options;
  const ResolvedPlan subject{inputs.model, inputs.cluster, inputs.basis, {}, {}, {}};
  if (request.engine) {
    narrow(choices, *request.engine);
    options.accept = [&, facts = stack_facts(inputs.basis.stack)](const plan::Degrees& d) {
      return can_express(*request.engine, subject, d, facts);
    };
  }
  if (progress)
    options.progress = [&](std::int64_t done, std::int64_t total, std::optional<double> best) {
      progress({.what = "candidates",
                .done = static_cast<double>(done),
                .total = static_cast<double>(total),
                .best = best && options.objectives.front() == search::Objective::kTime
                            ? format_seconds(Seconds{*best})
                            : ""});
    };
  answer.search = search::search(inputs.model, clusters, inputs.basis, choices, options);
  for (const search::Candidate& found : answer.search.plans) {
    const cluster::Cluster& machines = clusters[found.cluster];
    // The checker knows nothing of the search.
    NEREUS_CHECK(plan::check(cost::expand_for(found.degrees, inputs.model, inputs.basis.stack),
                             inputs.model, machines)
                     .empty(),
                 "every plan that the search gives passes the checker");
    ResolvedPlan resolved{inputs.model, machines, inputs.basis, found.degrees, {}, answer.derived};
    answer.plans.push_back(describe(std::move(resolved), found.prediction));
  }
  if (answer.plans.empty() && answer.search.complete) {
    answer.binding = binding_constraint(answer, request.options.headroom);
    PlanRequest again = request;
    again.options.accept = options.accept;
    if (request.lifts) answer.lifts = find_lifts(again, inputs, choices);
  }
  const std::optional<search::Candidate>& faster = answer.search.left_out;
  if (faster && options.objectives.size() == 1 && !answer.plans.empty() &&
      faster->prediction.step < answer.plans.front().prediction.step)
    answer.left_out = describe({inputs.model,
                                clusters[faster->cluster],
                                inputs.basis,
                                faster->degrees,
                                {},
                                answer.derived},
                               faster->prediction);
  return answer;
}

}  // namespace

PlanAnswer plan(const PlanRequest& given, const ProgressSink& progress) {
  const auto begin = std::chrono::steady_clock::now();
  PlanRequest request = given;
  PlanAnswer answer;
  // If no plan is as likely to fit as requested: one that is rather likely, then any.
  for (const double probability : {given.fits_probability, kLikely, 0.0}) {
    request.fits_probability = std::min(probability, given.fits_probability);
    request.lifts = given.lifts && request.fits_probability == 0;
    answer = plan_once(request, progress);
    if (!answer.plans.empty() || !answer.search.complete || request.fits_probability == 0) break;
  }
  answer.tight = !answer.plans.empty() && request.fits_probability < given.fits_probability;
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return answer;
}

plan::Plan to_plan(const ResolvedPlan& resolved) {
  plan::Plan file;
  file.model = resolved.model;
  file.cluster = resolved.cluster;
  file.stack = resolved.basis.stack.name;
  file.degrees = resolved.degrees;
  file.placement = resolved.degrees
                       ? cost::expand_for(*resolved.degrees, resolved.model, resolved.basis.stack)
                       : resolved.placement;
  return file;
}

}  // namespace nereus::app
