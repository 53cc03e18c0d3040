#include "app/plan/plan_mixed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/plan/plan_mixed_binding.hpp"
#include "app/plan/plan_one_kind.hpp"
#include "app/predict/profiles.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "plan/check.hpp"
#include "plan/complete.hpp"
#include "search/regular/choice_fields.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

// Rejects choices of the space and the goals that only apply to uniform clusters.
void refuse_others(const PlanRequest& request, const Inputs& inputs) {
  ErrorList errors;
  const search::Choices& c = request.choices;
  const auto refuse = [&](bool given, const std::string& what) {
    if (given)
      errors.add("plan.mixed-option",
                 fmt::format("{} is not supported on clusters with several kinds of node", what),
                 {}, "--tp, --micro-batch, --zero, --recompute, --headroom");
  };
  for (const std::string& option : search::given_options(
           c, {"--tp", "--max-tp", "--micro-batch", "--zero", "--recompute", "--state-types"}))
    refuse(true, option);
  refuse(!request.nodes.empty(), "--nodes");
  refuse(request.engine.has_value(), "--engine");
  refuse(request.options.objectives != std::vector{search::Objective::kTime},
         "an --objective other than time");
  for (const search::RecomputeChoice choice : c.recompute)
    refuse(choice == search::RecomputeChoice::kPartial, "--recompute partial");
  bool experts = inputs.model.table_layer() >= 0;
  for (const model::LayerKind& kind : inputs.model.kinds) experts |= kind.expert_parameters() > 0;
  if (experts)
    errors.add(
        "plan.mixed-model",
        fmt::format("{} has experts or embedding tables, which are not supported on clusters with "
                    "several kinds of node",
                    inputs.model.name),
        {}, "one kind of node, or a dense model");
  for (const int tp : c.tp)
    if (!mixed::can_cut(inputs.model, tp))
      errors.add("plan.mixed-tensor",
                 fmt::format("tp = {} does not divide heads, feed-forward size and sequence of {}",
                             tp, inputs.model.name),
                 {}, "--tp 1, or no --tp");
  if (inputs.cluster.num_devices() > kMostMixedDevices)
    errors.add("plan.too-large", fmt::format("{} devices of several kinds are too many; at most "
                                             "{} are supported",
                                             format_count(inputs.cluster.num_devices()),
                                             format_count(kMostMixedDevices)));
  errors.throw_if_any();
}

cluster::Precision mixed_precision(const PlanRequest& request, const Inputs& inputs) {
  const std::vector<cluster::Precision> usual = {
      cluster::Precision::kBf16, cluster::Precision::kFp16, cluster::Precision::kFp32};
  if (!request.precision) {
    for (const cluster::Precision precision : usual)
      if (all_have(inputs.cluster, precision)) return precision;
    throw_input_error("plan.no-precision",
                      fmt::format("the devices of {} share none of the precisions bf16, fp16 and "
                                  "fp32",
                                  inputs.cluster.name),
                      {}, "fewer kinds of node, or --precision with one that all devices support");
  }
  if (all_have(inputs.cluster, *request.precision)) return *request.precision;
  std::vector<std::string> common;
  for (int i = 0; i < cluster::kNumPrecisions; ++i)
    if (const auto precision = static_cast<cluster::Precision>(i);
        all_have(inputs.cluster, precision))
      common.emplace_back(to_string(precision));
  throw_input_error("plan.no-precision",
                    fmt::format("not all devices of {} support {}", inputs.cluster.name,
                                to_string(*request.precision)),
                    {},
                    common.empty() ? "fewer kinds of node"
                                   : fmt::format("all support {}", fmt::join(common, ", ")));
}

}  // namespace

bool all_have(const cluster::Cluster& cluster, cluster::Precision precision) {
  return std::all_of(cluster.groups.begin(), cluster.groups.end(),
                     [&](const cluster::NodeGroup& g) { return g.node.device.has(precision); });
}

mixed::MixedOptions mixed_options(const search::Choices& choices,
                                  const search::SearchOptions& given) {
  mixed::MixedOptions options;
  options.global_batch = choices.global_batch;
  options.precision = choices.precision;
  options.state_types = choices.state_types;
  options.headroom = given.headroom;
  options.tensor_degrees = choices.tp;
  options.max_tp = choices.max_tp;
  options.micro_batches = choices.micro_batch;
  options.zero = choices.zero;
  for (const search::RecomputeChoice choice : choices.recompute)
    options.recompute.push_back(static_cast<plan::Recompute>(choice));
  options.stop = given.stop;
  return options;
}

void plan_mixed(const PlanRequest& request, PlanAnswer& answer, const ProgressSink& progress) {
  const Inputs& inputs = answer.inputs;
  refuse_others(request, inputs);
  take_choices(request, answer);
  search::Choices& choices = answer.choices;
  choices.precision = mixed_precision(request, inputs);
  if (!request.precision) answer.derived.push_back("precision");
  check_precision(inputs.basis, choices.precision);
  answer.inputs.basis = answer.inputs.basis.in_precision(choices.precision, choices.state_types);

  mixed::MixedOptions options = mixed_options(choices, request.options);
  if (bytes_of_state(inputs) > (1 - options.headroom) * memory_of(inputs.cluster)) {
    answer.mixed.emplace();  // nothing to look for
    answer.mixed->bound =
        mixed::least_step(inputs.model, inputs.cluster, answer.inputs.basis, options);
    return;
  }
  options.known = plans_of_one_kind(request, answer.inputs, choices);
  if (progress)
    options.progress = [&](std::int64_t done, std::int64_t total, std::optional<double> best) {
      progress({.what = "candidates",
                .done = static_cast<double>(done),
                .total = static_cast<double>(total),
                .best = best ? format_seconds(Seconds{*best}) : ""});
    };
  mixed::MixedResult found =
      mixed::search(inputs.model, inputs.cluster, answer.inputs.basis, options);
  answer.search.space = found.space;
  answer.search.evaluated = found.evaluated;
  answer.search.pruned = found.pruned;
  answer.search.too_much_memory = found.too_much_memory;
  answer.search.complete = found.complete;
  answer.mixed.emplace();
  answer.mixed->bound = found.bound;
  answer.mixed->left_out = found.left_out;
  answer.mixed->every = found.every;
  for (const mixed::MixedPlan& own : found.baselines)
    answer.mixed->baselines.push_back({own.family, own.prediction.step});
  for (mixed::MixedPlan& own : found.plans) {
    if (static_cast<int>(answer.plans.size()) == request.options.top) break;
    // The checker knows nothing of the search.
    NEREUS_CHECK(plan::check(own.placement, inputs.model, inputs.cluster).empty(),
                 "every plan that the search gives passes the checker");
    answer.mixed->families.push_back(own.family);
    ResolvedPlan resolved{inputs.model, inputs.cluster,           answer.inputs.basis,
                          {},           std::move(own.placement), answer.derived};
    answer.plans.push_back(describe(std::move(resolved), own.prediction));
  }
}

}  // namespace nereus::app
