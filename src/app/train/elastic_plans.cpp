#include "app/train/elastic_plans.hpp"

#include <fmt/format.h>

#include <charconv>

#include "app/plan/plan_verb.hpp"
#include "app/train/train_setup.hpp"
#include "base/format.hpp"

namespace nereus::app {

namespace {

// "spot" of "16xspot".
std::string node_of(const std::string& cluster) {
  const std::size_t x = cluster.find('x');
  const bool counted =
      x != std::string::npos && x > 0 && cluster.find_first_not_of("0123456789") == x;
  if (!counted || cluster.find('+') != std::string::npos)
    throw_input_error(
        "elastic.node",
        fmt::format("--cluster {} has several kinds of machines, but an elastic job needs one kind",
                    cluster),
        {}, "--cluster COUNTxNODE with one device per node; COUNT does not matter");
  return cluster.substr(x + 1);
}

}  // namespace

std::vector<Shape> parse_shapes(const std::string& text) {
  std::vector<Shape> shapes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    Shape shape{0, 0};
    const char* last = one.data() + one.size();
    const auto [middle, first_error] = std::from_chars(one.data(), last, shape.pp);
    if (first_error == std::errc() && middle != last && *middle == 'x') {
      const auto [stop, second_error] = std::from_chars(middle + 1, last, shape.dp);
      if (second_error != std::errc() || stop != last) shape.dp = 0;
    }
    if (shape.pp < 1 || shape.dp < 1)
      throw_input_error("elastic.shapes", fmt::format("--shapes: \"{}\" is not a shape", one), {},
                        "stages x replicas: --shapes 4x2,3x2,2x3");
    shapes.push_back(shape);
    at = end + 1;
  }
  return shapes;
}

std::string shape_text(const ElasticPlan& plan) {
  if (!plan.resolved.degrees) return counted(plan.num_ranks, "rank");
  const plan::Degrees& d = *plan.resolved.degrees;
  std::string text = fmt::format("pp {} dp {}", d.pp, d.dp);
  if (d.tp > 1) text += fmt::format(" tp {}", d.tp);
  return text;
}

ElasticPlans::ElasticPlans(const TrainRequest& request, std::vector<Shape> shapes)
    : request_(request), shapes_(std::move(shapes)) {
  if (!request_.plan.plan_file.empty())
    throw_input_error("elastic.plan-file",
                      "a plan file has a fixed number of ranks, but an elastic job changes it",
                      {request_.plan.plan_file}, "--model with --global-batch; --shapes 4x2,2x3");
  if (!request_.plan.cluster.cluster.empty()) node_ = node_of(request_.plan.cluster.cluster);
}

std::optional<ElasticPlan> ElasticPlans::try_shape(const Shape& shape) {
  std::optional<ElasticPlan>& known = tried_[{shape.pp, shape.dp}];
  if (known || tried_.size() > 4096) return known;
  try {
    TrainRequest request = request_;
    request.plan.degrees.pp = shape.pp;
    request.plan.degrees.dp = shape.dp;
    if (!node_.empty())
      request.plan.cluster.cluster = fmt::format("{}x{}", shape.pp * shape.dp, node_);
    ElasticPlan plan{resolve_plan(request), shape.pp * shape.dp, 0};
    const cost::Prediction prediction = predict_step(plan.resolved);
    plan.step_s = prediction.step;
    if (prediction.fits) known = std::move(plan);
  } catch (const Errors& errors) {
    if (!reason_) reason_ = errors;
  }
  return known;
}

// The plan of `nereus plan` for that many nodes.
std::optional<ElasticPlan> ElasticPlans::planned(int machines) {
  const DegreesRequest& d = request_.plan.degrees;
  PlanRequest request;
  request.model = request_.plan.model;
  request.cluster = request_.plan.cluster;
  request.cluster.cluster = fmt::format("{}x{}", machines, node_);
  request.calibration = request_.plan.calibration;
  request.seq = d.seq;
  request.precision = d.precision;
  request.choices.global_batch = d.global_batch.value_or(0);
  try {
    const PlanAnswer answer = plan(request);
    if (answer.plans.empty()) return std::nullopt;
    const PredictAnswer& best = answer.plans.front();
    ElasticPlan found{best.plan, ranks_of(to_plan(best.plan).placement), best.prediction.step};
    if (found.num_ranks > machines)
      throw_input_error("elastic.node",
                        fmt::format("{} of {} {} {} ranks, but an agent runs only one",
                                    counted(machines, "machine"), node_,
                                    machines == 1 ? "is" : "are", found.num_ranks),
                        {}, "a node with one device");
    return found;
  } catch (const Errors& errors) {
    reason_ = errors;
    return std::nullopt;
  }
}

std::optional<ElasticPlan> ElasticPlans::best(int machines) {
  const auto known = known_.find(machines);
  if (known != known_.end()) return known->second;
  reason_.reset();
  std::optional<ElasticPlan> best;
  const auto consider = [&](const std::optional<ElasticPlan>& plan) {
    if (plan && (!best || plan->step_s < best->step_s)) best = plan;
  };
  if (!shapes_.empty()) {
    for (const Shape& shape : shapes_)
      if (shape.pp * shape.dp <= machines) consider(try_shape(shape));
  } else if (!node_.empty()) {
    for (int count = machines; count > 0 && !best; --count) consider(planned(count));
  } else {
    const DegreesRequest& d = request_.plan.degrees;
    for (int pp = 1; pp <= machines; ++pp)
      for (int dp = 1; pp * dp <= machines; ++dp)
        if (d.pp.value_or(pp) == pp && d.dp.value_or(dp) == dp) consider(try_shape({pp, dp}));
  }
  return known_[machines] = best;
}

}  // namespace nereus::app
