#include "app/simulate/simulate_astra.hpp"

#include <fmt/format.h>

#include <chrono>

#include "app/simulate/astra_dimensions.hpp"
#include "app/simulate/simulate_collective.hpp"
#include "base/error.hpp"
#include "plan/expand.hpp"
#include "simulate/network/cluster_network.hpp"
#include "simulate/network/network_file.hpp"

namespace nereus::app {

namespace {

using simulate::Dimension;

// What ASTRA-sim's view cannot express, one error each.
class Refusals {
 public:
  void model(const model::Model& model) {
    if (!model.transformer) return refuse(fmt::format("{} is not a transformer", model.name));
    const model::TransformerShape& s = *model.transformer;
    const auto count = [&](bool wrong, const char* what) {
      if (wrong) refuse(fmt::format("{}: {}", model.name, what));
    };
    count(s.experts > 0, "experts");
    count(s.gated_mlp, "a gated MLP");
    if (s.ffn != 4 * s.hidden && s.experts == 0)
      refuse(fmt::format("{}: an MLP of {} instead of 4 x {}", model.name, s.ffn, s.hidden));
    count(s.kv_heads != s.heads, "fewer key-value heads than heads");
    count(s.head_dim * s.heads != s.hidden, "heads that do not make up the hidden size");
    count(s.q_lora > 0 || s.kv_lora > 0, "latent attention");
    count(s.window > 0 || s.compress_near > 0, "attention over a part of the sequence");
    count(!s.pattern.empty(), "layers of different kinds");
    count(s.patch > 0, "images");
    count(s.decoder_layers > 0, "an encoder beside the decoder");
  }

  void plan(const plan::Degrees& d) {
    const auto one = [&](int degree, const char* what) {
      if (degree != 1) refuse(fmt::format("{} {}", what, degree));
    };
    one(d.pp, "pipeline stages: pp");
    one(d.cp, "context parallelism: cp");
    one(d.ep, "expert parallelism: ep");
    if (d.num_micro_batches() != 1)
      refuse(fmt::format("{} micro-batches per step", d.num_micro_batches()),
             fmt::format("--global-batch {}", d.dp * d.micro_batch));
    if (d.zero > 0) refuse(fmt::format("ZeRO-{}", d.zero), "--zero 0");
    if (d.recompute != plan::Recompute::kNone)
      refuse(fmt::format("{} recompute", to_string(d.recompute)), "--recompute none");
    if (d.sequence_parallel) refuse("sequence parallelism", "--sequence-parallel=off");
    if (d.tensor_overlap)
      refuse("tensor collectives overlapped with their GEMMs", "--tensor-overlap=off");
    if (!d.data_overlap) refuse("gradient all-reduce without overlap", "--data-overlap=on");
    if (!d.offload.none()) refuse("offload");
    if (d.precision != cluster::Precision::kBf16 && d.precision != cluster::Precision::kFp16)
      refuse(fmt::format("{}: its elements have two bytes", to_string(d.precision)),
             "--precision bf16 or fp16");
  }

  void refuse(std::string what, std::string hint = {}) {
    errors_.add("astra-sim.not-expressible", "--compat astra-sim cannot express " + what, {},
                std::move(hint));
  }
  ErrorList& errors() { return errors_; }

 private:
  ErrorList errors_;
};

PredictRequest expressible(PredictRequest request) {
  if (!request.plan_file.empty()) return request;
  DegreesRequest& d = request.degrees;
  const auto unless_given = [](auto& field, auto value) {
    if (!field) field = value;
  };
  unless_given(d.pp, 1);
  unless_given(d.cp, 1);
  unless_given(d.zero, 0);
  unless_given(d.recompute, plan::Recompute::kNone);
  unless_given(d.sequence_parallel, false);
  if (!d.global_batch)
    if (const auto degrees = resolve(request).degrees)
      d.global_batch = degrees->dp * degrees->micro_batch;
  return request;
}

// The dimension of each axis: the network's, without those of one rank.
void set_dimensions(const simulate::Network& network, const std::string& words,
                    AstraStepAnswer& answer, Refusals& refusals) {
  std::vector<Dimension> dimensions;
  for (const Dimension& d : network.dimensions())
    if (d.size > 1) dimensions.push_back(d);
  struct Axis {
    const char* name;
    int degree;
    simulate::AstraDimension& dimension;
  };
  std::vector<Axis> axes;
  for (const Axis& axis :
       {Axis{"tp", answer.decoder.tp, answer.tensor}, Axis{"dp", answer.decoder.dp, answer.data}})
    if (axis.degree > 1) axes.push_back(axis);
  std::string stated;
  for (const Axis& axis : axes)
    stated += fmt::format("{}{} {}", stated.empty() ? "" : " x ", axis.name, axis.degree);
  std::string there;
  for (const Dimension& d : dimensions)
    there += fmt::format("{}{}({})", there.empty() ? "" : " x ", to_string(d.kind), d.size);
  bool same = axes.size() == dimensions.size();
  for (std::size_t i = 0; same && i < axes.size(); ++i) same = axes[i].degree == dimensions[i].size;
  if (!same)
    return refusals.refuse(
        fmt::format("{} on {}: every axis must be one whole dimension of the network",
                    stated.empty() ? "one rank" : stated, there.empty() ? "one rank" : there),
        "degrees equal to the sizes of the network's dimensions, or --network FILE with "
        "dimensions of those sizes");
  if (axes.empty()) return;
  const auto algorithms =
      parse_algorithms(words.empty() ? "ring" : words, axes.size(), refusals.errors());
  for (std::size_t i = 0; i < axes.size() && i < algorithms.size(); ++i)
    axes[i].dimension = astra_dimension(dimensions[i], algorithms[i], refusals.errors());
}

}  // namespace

AstraStepAnswer simulate_astra(const AstraStepRequest& request) {
  AstraStepAnswer answer;
  answer.predicted = predict(resolve(expressible(request.predict)));
  const ResolvedPlan& plan = answer.predicted.plan;
  std::optional<plan::Degrees> degrees = plan.degrees;
  if (!degrees) degrees = plan::as_regular(plan.placement, plan.model);
  Refusals refusals;
  refusals.model(plan.model);
  if (degrees)
    refusals.plan(*degrees);
  else
    refusals.refuse("an irregular placement");
  refusals.errors().throw_if_any();

  const model::TransformerShape& shape = *plan.model.transformer;
  const cluster::Device& device = plan.cluster.device_at(0);
  answer.decoder = {.layers = shape.layers,
                    .hidden = shape.hidden,
                    .seq = shape.seq,
                    .batch = degrees->micro_batch,
                    .heads = shape.heads,
                    .tp = degrees->tp,
                    .dp = degrees->dp,
                    .peak = device.peak[static_cast<std::size_t>(degrees->precision)].value};
  const simulate::Network network = request.network_file.empty()
                                        ? simulate::network_of(plan.cluster)
                                        : simulate::load_network(request.network_file);
  set_dimensions(network, request.algorithms, answer, refusals);
  refusals.errors().throw_if_any();

  simulate::AstraSystem system;
  system.splits = request.chunks.value_or(system.splits);
  system.memory = device.memory_bandwidth.value * 1e-9;
  const auto begin = std::chrono::steady_clock::now();
  answer.iteration = simulate::astra_iteration(system, answer.decoder, answer.tensor, answer.data);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!answer.iteration.why_not.empty())
    throw_input_error("astra-sim.no-formula", answer.iteration.why_not, {},
                      "ring, direct, or halving-doubling on a power of two");
  return answer;
}

}  // namespace nereus::app
