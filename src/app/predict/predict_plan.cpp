#include "app/predict/predict_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/predict/profiles.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "cluster/check_cluster.hpp"
#include "cluster/load_cluster.hpp"
#include "cluster/meant_devices.hpp"
#include "cluster/this_machine.hpp"
#include "cost/measured_network.hpp"
#include "cost/pipeline_time.hpp"
#include "model/read/load_model.hpp"
#include "plan/complete.hpp"
#include "plan/degree_fields.hpp"
#include "plan/expand.hpp"
#include "plan/plan_json.hpp"
#include "plan/rules.hpp"
#include "plan/stages.hpp"
#include "predict/general/general_predictor.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

constexpr const char* kDefaultModel = "llama3-70b";
constexpr const char* kDefaultCluster = "16xdgx-h100";

model::Model load_model(const ModelRequest& request, std::optional<int> seq) {
  model::Overrides overrides;
  for (const Override& o : request.overrides) overrides.emplace_back(o.path, o.value);
  if (seq) overrides.emplace_back("seq", std::to_string(*seq));
  return model::load_model(request.model.empty() ? kDefaultModel : request.model, overrides);
}

cluster::Cluster load_cluster(const ClusterRequest& request) {
  std::vector<cluster::Override> overrides;
  for (const Override& o : request.overrides) overrides.push_back({o.path, o.value});
  if (const std::optional<int> ranks = cluster::ranks_here(request.cluster)) {
    if (!overrides.empty())
      throw_input_error("cluster.this-machine", "--set cannot change this-machine", {},
                        "a cluster file, or --profile with a measured profile of this machine");
    return cluster::this_machine(*ranks, "cpu");
  }
  return cluster::load_cluster(request.cluster.empty() ? kDefaultCluster : request.cluster,
                               overrides);
}

bool is_this_cpu(const cluster::Cluster& cluster) {
  return cluster::is_nominal(cluster) &&
         cluster::own_device_kind(cluster.groups.front().node.device.short_name) == "cpu";
}

// On this machine it is our own worker that would run.
std::string usual_stack(const model::Model& model, const cluster::Cluster& cluster) {
  return is_this_cpu(cluster) ? "nereus" : cost::default_stack(model, cluster);
}

cost::Stack load_stack(const CalibrationRequest& calibration, const std::string& usual) {
  return cost::load_stack(calibration.stack.empty() ? usual : calibration.stack);
}

plan::CompletedDegrees complete(const PredictRequest& request, const ResolvedPlan& inputs) {
  DegreesRequest d = request.degrees;
  // The stated default plan goes with the default model on the default cluster.
  if (request.model.model.empty() && request.cluster.cluster.empty() && !d.tp && !d.pp && !d.dp &&
      !d.cp && !d.ep) {
    d.tp = 8;
    d.pp = 4;
    if (!d.zero) d.zero = 1;
  }
  plan::CompletedDegrees completed = plan::complete_degrees(d, inputs.model, inputs.cluster);
  if (d.recompute_blocks) {
    if (completed.degrees.recompute != plan::Recompute::kFull)
      throw_input_error(
          "plan.recompute-blocks",
          fmt::format("--recompute-blocks {} needs full recompute, but recompute is {}",
                      *d.recompute_blocks, plan::to_string(completed.degrees.recompute)),
          {}, "--recompute full, or no --recompute-blocks");
    // More than a stage holds is all of it.
    const int stages = std::max(1, completed.degrees.pp * completed.degrees.interleave);
    const int most = (plan::layer_span(inputs.model).blocks + stages - 1) / stages;
    if (*d.recompute_blocks >= most) completed.degrees.recompute_blocks = 0;
  }
  // Stacks that can shard norms and residuals over the tensor group do so if tp divides the
  // sequence.
  if (!d.sequence_parallel && completed.degrees.tp > 1 &&
      inputs.basis.stack.defaults.sequence_parallel) {
    plan::Degrees with = completed.degrees;
    with.sequence_parallel = true;
    const plan::DegreeLimits limits = plan::degree_limits(inputs.model, inputs.cluster);
    if (plan::violated_rules(with, limits) == plan::violated_rules(completed.degrees, limits))
      completed.degrees.sequence_parallel = true;
  }
  return completed;
}

// Collects the errors of one load together with those of the others.
template <class Load>
void collect(ErrorList& errors, const Load& load) {
  try {
    load();
  } catch (const Errors& wrong) {
    for (const Error& error : wrong.list()) errors.add(error);
  }
}

std::vector<std::string> table_assumptions(const model::LayerKind& layer) {
  const model::Operator& table = layer.operators.front();
  std::vector<std::string> list;
  list.push_back(fmt::format(
      "embedding tables take {:g} B per weight, and their optimizer {:g} B per weight and {:g} B "
      "per row; only rows that a step uses are updated",
      table.weight_bytes, table.state_bytes, table.row_state_bytes));
  list.push_back(
      "lookups are spread evenly over a table's rows, and each reads its row from memory, at "
      "least 64 B");
  list.push_back(
      "the bottom MLP overlaps with the exchange of pooled vectors and of their "
      "gradients");
  return list;
}

std::vector<std::string> network_assumptions(const cost::MeasuredNetworks& networks) {
  std::vector<std::string> list;
  for (const cost::MeasuredNetwork& own : networks.list) {
    const auto say = [&](const char* where, const cost::LevelFit& fit) {
      if (fit.rate > 0)
        list.push_back(
            fmt::format("collectives {} run as measured on {} with {}: {} and {} per step, with a "
                        "median error of {:.0f} % over {}",
                        where, own.device, own.backend, format_rate(BytesPerSecond{fit.rate}),
                        format_seconds(Seconds{fit.latency}), 100 * fit.error,
                        counted(fit.rows, "measured time")));
    };
    say("inside a host", own.inside);
    say("between hosts", own.between);
    if (own.on_busy_cores)
      list.push_back("gradient all-reduces are not hidden, because ranks compute on every core");
    if (own.host_rate > 0)
      list.push_back(fmt::format("host memory runs as measured on {}: {}", own.device,
                                 format_rate(BytesPerSecond{own.host_rate})));
  }
  list.insert(list.end(), networks.notes.begin(), networks.notes.end());
  return list;
}

std::vector<std::string> assumptions_of(const ResolvedPlan& plan) {
  std::vector<std::string> list;
  const cost::Stack& stack = plan.basis.stack;
  list.push_back(fmt::format("software: {}", stack.name));
  const int tables = plan.model.table_layer();
  if (tables < 0)
    list.push_back(stack.options.attention == plan::Attention::kFlash
                       ? "attention is one fused kernel"
                       : "attention stores its score matrix");
  else
    for (const std::string& line : table_assumptions(plan.model.layer(tables)))
      list.push_back(line);
  list.push_back(
      fmt::format("state per parameter{}: {:g} B of weights, {:g} B of gradients, {:g} B of "
                  "optimizer state",
                  tables < 0 ? "" : " of the MLPs", stack.options.weight_bytes,
                  stack.options.gradient_bytes, stack.options.optimizer_bytes));
  for (const cluster::NodeGroup& group : plan.cluster.groups) {
    const cluster::Node& node = group.node;
    list.push_back(
        fmt::format("{} x {}: {}, {} per device inside the node, {} per node between nodes",
                    group.count, node.name, counted(node.num_devices, "device"),
                    format_rate(node.inside.bandwidth), format_rate(node.network)));
  }
  if (std::string meant = cluster::meant_devices(plan.cluster); !meant.empty())
    list.push_back(std::move(meant));
  if (plan.basis.networks)
    for (const std::string& line : network_assumptions(*plan.basis.networks)) list.push_back(line);
  list.push_back("input data is always ready when needed");
  return list;
}

}  // namespace

Inputs load_inputs(const ModelRequest& model, std::optional<int> seq, const ClusterRequest& cluster,
                   const CalibrationRequest& calibration) {
  Inputs inputs;
  ErrorList errors;
  collect(errors, [&] { inputs.model = load_model(model, seq); });
  collect(errors, [&] { inputs.cluster = load_cluster(cluster); });
  collect(errors, [&] {
    const bool known = !inputs.cluster.groups.empty();
    const std::string usual = known ? usual_stack(inputs.model, inputs.cluster) : "megatron";
    inputs.basis.stack = load_stack(calibration, usual);
  });
  errors.throw_if_any();
  use_profiles(calibration, inputs.model, inputs.cluster, inputs.basis);
  return inputs;
}

namespace {

// The degrees completed and checked.
ResolvedPlan with_degrees(const PredictRequest& request, Inputs inputs) {
  ResolvedPlan resolved;
  resolved.model = std::move(inputs.model);
  resolved.cluster = std::move(inputs.cluster);
  resolved.basis = std::move(inputs.basis);
  PredictRequest wanted = request;
  const std::optional<cluster::Precision> measured = measured_precision(resolved.basis);
  if (!wanted.degrees.precision) wanted.degrees.precision = measured;
  // The precision that train uses on CPUs.
  if (!wanted.degrees.precision && is_this_cpu(resolved.cluster))
    wanted.degrees.precision = cluster::Precision::kFp32;
  const plan::CompletedDegrees completed = complete(wanted, resolved);
  resolved.derived = completed.derived;
  if (wanted.degrees.precision && !request.degrees.precision)
    resolved.derived.emplace_back("precision");
  check_precision(resolved.basis, completed.degrees.precision);
  plan::check_degrees(completed.degrees, resolved.model, resolved.cluster).throw_if_any();
  resolved.degrees = completed.degrees;
  resolved.basis =
      resolved.basis.in_precision(completed.degrees.precision, completed.degrees.state_types);
  return resolved;
}

}  // namespace

ResolvedPlan resolve(const PredictRequest& request) {
  ResolvedPlan resolved;
  if (!request.plan_file.empty()) {
    if (!request.model.model.empty() || !request.cluster.cluster.empty() ||
        !request.model.overrides.empty() || !request.cluster.overrides.empty() ||
        !plan::given_options(request.degrees).empty())
      throw_input_error(
          "predict.plan-and-options", "a plan file already contains model, cluster and degrees",
          {request.plan_file}, "remove --model, --cluster, --set and degrees; --stack is allowed");
    plan::Plan file = plan::load_plan(request.plan_file);
    ErrorList wrong;
    cluster::check_cluster(file.cluster, wrong);
    wrong.throw_if_any();
    const std::string usual =
        file.stack.empty() ? usual_stack(file.model, file.cluster) : file.stack;
    resolved.basis.stack = load_stack(request.calibration, usual);
    resolved.model = std::move(file.model);
    resolved.cluster = std::move(file.cluster);
    resolved.placement = std::move(file.placement);
    use_profiles(request.calibration, resolved.model, resolved.cluster, resolved.basis);
    check_precision(resolved.basis, resolved.placement.precision);
    resolved.basis =
        resolved.basis.in_precision(resolved.placement.precision, resolved.placement.state_types);
    // The degrees are used instead of the placement if the stack cuts the layers like the file.
    if (file.degrees &&
        cost::expand_for(*file.degrees, resolved.model, resolved.basis.stack) == resolved.placement)
      resolved.degrees = file.degrees;
    return resolved;
  }
  return with_degrees(request, load_inputs(request.model, request.degrees.seq, request.cluster,
                                           request.calibration));
}

ResolvedPlan resolve_on(const PredictRequest& request, const cluster::Cluster& machine,
                        const std::string& usual_stack) {
  Inputs inputs;
  inputs.cluster = machine;
  ErrorList errors;
  collect(errors, [&] { inputs.model = load_model(request.model, request.degrees.seq); });
  collect(errors, [&] { inputs.basis.stack = load_stack(request.calibration, usual_stack); });
  errors.throw_if_any();
  use_profiles(request.calibration, inputs.model, inputs.cluster, inputs.basis);
  return with_degrees(request, std::move(inputs));
}

cost::Prediction predict_step(const ResolvedPlan& plan) {
  std::optional<plan::Degrees> degrees = plan.degrees;
  // Some closed forms only hold for regular plans.
  if (!degrees && !cost::has_general_form(plan.placement.schedule))
    degrees = plan::as_regular(plan.placement, plan.model);
  if (degrees && plan.cluster.uniform())
    return cost::Predictor(plan.model, plan.cluster, plan.basis, 1).predict(*degrees);
  const plan::Placement placement =
      degrees ? cost::expand_for(*degrees, plan.model, plan.basis.stack) : plan.placement;
  if (!cost::has_general_form(placement.schedule) && placement.runs.back().stage > 0)
    throw_input_error(
        "predict.no-closed-form",
        fmt::format("there is no closed form for an irregular {} pipeline, or for one on mixed "
                    "machines",
                    plan::to_string(placement.schedule)),
        {}, "equal degrees on machines of one kind, or schedule 1f1b, zb-h1, zb-h2 or zb-v");
  return cost::predict(placement, plan.model, plan.cluster, plan.basis);
}

PredictAnswer predict(const PredictRequest& request) { return predict(resolve(request)); }

PredictAnswer predict(ResolvedPlan plan) {
  const cost::Prediction prediction = predict_step(plan);
  return describe(std::move(plan), prediction);
}

std::optional<cost::Conditions> conditions_of(const ResolvedPlan& plan, double filled) {
  if (plan.basis.layers) return std::nullopt;
  plan::Degrees degrees;
  if (plan.degrees) {
    degrees = *plan.degrees;
  } else {
    degrees.precision = plan.placement.precision;
    degrees.schedule = plan.placement.schedule;
    degrees.pp = plan.placement.runs.empty() ? 1 : plan.placement.runs.back().stage + 1;
  }
  cost::Conditions conditions =
      cost::conditions_of(plan.model, plan.cluster.groups.front(), plan.cluster.num_devices(),
                          degrees, plan.basis.stack, filled);
  if (!plan.cluster.uniform()) conditions.features.emplace_back("several kinds of node");
  if (!plan.degrees) conditions.features.emplace_back("uneven work");
  return conditions;
}

namespace {

void add_intervals(PredictAnswer& answer) {
  const std::shared_ptr<const cost::ErrorTable>& errors = answer.plan.basis.stack.errors;
  const cost::Memory& memory = answer.prediction.memory;
  const std::optional<cost::Conditions> conditions =
      conditions_of(answer.plan, memory.total / memory.capacity);
  if (!errors || !conditions) return;
  answer.step_error = errors->band(cost::Quantity::kStep, *conditions);
  answer.memory_error = errors->band(cost::Quantity::kMemory, *conditions);
  if (const auto& band = answer.step_error) {
    answer.step_low = answer.prediction.step * std::exp(band->low());
    answer.step_high = answer.prediction.step * std::exp(band->high());
  }
  if (const auto& band = answer.memory_error) {
    answer.memory_low = memory.total * std::exp(band->low());
    answer.memory_high = memory.total * std::exp(band->high());
  }
  answer.fits_probability = errors->fits_probability(*conditions, memory.total, memory.capacity);
  if (memory.beyond > memory.beyond_capacity) answer.fits_probability = 0;
}

}  // namespace

PredictAnswer describe(ResolvedPlan resolved, const cost::Prediction& prediction) {
  PredictAnswer answer;
  answer.plan = std::move(resolved);
  answer.prediction = prediction;
  const ResolvedPlan& plan = answer.plan;
  const double batch =
      plan.degrees ? plan.degrees->global_batch : static_cast<double>(plan.placement.global_batch);
  answer.counts_tokens = plan.model.tokens_per_sample > 0;
  const double counted = batch * (answer.counts_tokens ? plan.model.tokens_per_sample : 1);
  answer.rate_per_device = counted / (answer.prediction.step * plan.cluster.num_devices());
  if (const UsdPerHour price = plan.cluster.price_on_demand(); price.value > 0) {
    answer.usd_per_step = (price * Seconds{answer.prediction.step}).value;
    answer.price_date = plan.cluster.groups.front().node.price.date;
  }
  add_intervals(answer);
  answer.assumptions = assumptions_of(plan);
  answer.sources = layer_sources(plan);
  return answer;
}

}  // namespace nereus::app
