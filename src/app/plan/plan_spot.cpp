#include "app/plan/plan_spot.hpp"

#include <fmt/format.h>

#include <chrono>

#include "app/plan/plan_choices.hpp"
#include "app/predict/profiles.hpp"
#include "base/error.hpp"
#include "plan/check.hpp"
#include "plan/complete.hpp"
#include "plan/rules.hpp"
#include "search/elastic/uneven_replicas.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

void check(const PlanRequest& request, const Inputs& inputs) {
  ErrorList errors;
  refuse_unread(request, kSpotPlanner, errors);
  if (!inputs.cluster.uniform())
    errors.add("plan.spot-cluster", "machines of several kinds", {},
               "one kind of machine, or no "
               "--spot");
  if (!inputs.model.transformer)
    errors.add("plan.spot-model", fmt::format("{} is not a transformer", inputs.model.name), {},
               "no --spot");
  errors.throw_if_any();
}

}  // namespace

SpotAnswer plan_spot(const PlanRequest& request, const SpotOptions& options) {
  SpotAnswer out;
  out.inputs = load_inputs(request.model, request.seq, request.cluster, request.calibration);
  check(request, out.inputs);
  simulate::Jitter jitter;
  if (!options.jitter.empty()) jitter.compute = simulate::parse_distribution(options.jitter);
  if (!options.link_jitter.empty()) jitter.link = simulate::parse_distribution(options.link_jitter);
  plan::DegreesRequest wanted;
  wanted.precision = request.precision;
  if (!wanted.precision) wanted.precision = measured_precision(out.inputs.basis);
  const cluster::Precision precision =
      plan::complete_degrees(wanted, out.inputs.model, out.inputs.cluster).degrees.precision;
  check_precision(out.inputs.basis, precision);
  plan::Degrees one;
  one.precision = precision;
  const ErrorList wrong = plan::check_degrees(one, out.inputs.model, out.inputs.cluster);
  for (const Error& error : wrong.list())
    if (error.code == plan::code_of(plan::Rule::kPrecision)) throw Errors({error});
  out.inputs.basis = out.inputs.basis.in_precision(precision);
  out.global_batch = request.choices.global_batch > 0
                         ? request.choices.global_batch
                         : plan::default_global_batch(out.inputs.model, out.inputs.cluster);
  elastic::SpotProblem problem{out.inputs.model, out.inputs.cluster, out.inputs.basis,
                               out.global_batch, precision,          jitter};
  problem.varuna_schedule = !options.for_file;
  const auto begin = std::chrono::steady_clock::now();
  out.result = elastic::search(problem);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.rule = elastic::varuna_rule(problem);
  for (const elastic::SpotPlan& own : out.result.plans)
    NEREUS_CHECK(
        plan::check(elastic::uneven_placement(own, problem), out.inputs.model, out.inputs.cluster)
            .empty(),
        "every plan that the search gives passes the checker");
  if (options.for_file && !out.result.plans.empty())
    out.best = {.model = out.inputs.model,
                .cluster = out.inputs.cluster,
                .stack = out.inputs.basis.stack.name,
                .degrees = std::nullopt,
                .placement = elastic::uneven_placement(out.result.plans.front(), problem)};
  return out;
}

}  // namespace nereus::app
