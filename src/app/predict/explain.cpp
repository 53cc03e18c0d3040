#include "app/predict/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/format.hpp"
#include "cost/embedding.hpp"
#include "plan/expand.hpp"
#include "predict/general/general_predictor.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

const char* kind_name(model::OpKind kind) {
  switch (kind) {
    case model::OpKind::kGemm:
      return "GEMM";
    case model::OpKind::kAttention:
      return "attention";
    case model::OpKind::kNorm:
      return "norm";
    case model::OpKind::kElementwise:
      return "element-wise";
    case model::OpKind::kEmbedding:
      return "embedding";
    case model::OpKind::kEmbeddingBag:
      return "embedding bag";
    case model::OpKind::kConvolution:
      return "convolution";
    case model::OpKind::kPool:
      return "pooling";
    case model::OpKind::kInteraction:
      return "interaction";
    case model::OpKind::kRouter:
      return "router";
    case model::OpKind::kScan:
      return "scan";
    case model::OpKind::kLoss:
      return "loss";
  }
  return "";
}

std::string shape_text(const model::Operator& op) {
  if (op.kind == model::OpKind::kAttention)
    return fmt::format("{} of {:g}, {:g} x {:g}", counted(op.heads, "head"), op.head_dim, op.rows,
                       op.keys);
  if (op.k > 0) return fmt::format("{:g} x {:g} x {:g}", op.rows, op.n, op.k);
  return fmt::format("{:g} x {:g}", op.rows, op.n);
}

// The scope that sets a number, from the specific to the general.
std::string origin(const cost::StackLibrary& library, const cost::Stack& stack,
                   const cluster::Device& device, const std::string& name,
                   cost::FittedRange& range) {
  const auto found = [&](const cost::Scope& scope) {
    if (const auto at = library.ranges.find(to_string(scope) + "." + name);
        at != library.ranges.end())
      range = at->second;
    return to_string(scope);
  };
  for (std::string at = stack.name; !at.empty();) {
    const auto entry = library.stacks.find(at);
    if (entry == library.stacks.end()) break;
    if (entry->second.settings.contains(name)) return found({cost::Scope::Kind::kStack, at});
    at = entry->second.inherits;
  }
  for (std::string_view at : cost::device_chain(device.short_name, stack.device_parents))
    if (const auto own = stack.devices.find(at);
        own != stack.devices.end() && own->second.contains(name))
      return found({cost::Scope::Kind::kDevice, std::string(at)});
  return stack.settings.contains(name) ? "file" : "default";
}

std::vector<RunLine> runs_of(const plan::Placement& placement) {
  std::vector<RunLine> out;
  const std::vector<plan::LayerRun>& runs = placement.runs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0 && runs[i].replicas == runs[i - 1].replicas) {
      out.back().num_layers += runs[i].num_layers;
      continue;
    }
    RunLine own{.first_layer = runs[i].first_layer, .num_layers = runs[i].num_layers};
    for (const plan::Replicas& r : runs[i].replicas) {
      const std::int64_t samples = r.samples_per_team();
      const bool first = own.ranks == 0;
      own.first_rank = first ? r.first : std::min(own.first_rank, r.first);
      own.least_samples = first ? samples : std::min(own.least_samples, samples);
      own.most_samples = std::max(own.most_samples, samples);
      own.ranks += r.count * r.ranks_per_team();
      own.ranks_per_team = std::max(own.ranks_per_team, r.ranks_per_team());
    }
    out.push_back(own);
  }
  return out;
}

}  // namespace

ExplainAnswer explain(const PredictRequest& request) {
  ExplainAnswer answer;
  answer.prediction = predict(request);
  const ResolvedPlan& plan = answer.prediction.plan;
  std::optional<plan::Degrees> degrees = plan.degrees;
  if (!degrees) degrees = plan::as_regular_with_own_stages(plan.placement, plan.model);
  const cluster::Device& device = plan.cluster.groups.front().node.device;
  const cost::Parameters parameters = plan.basis.stack.parameters_for(device);

  if (degrees && plan.cluster.uniform()) {
    const cost::KernelModel kernels(device, parameters, degrees->precision,
                                    plan.basis.stack.options.attention);
    double samples = degrees->micro_batch;
    if (plan.basis.stack.options.local_batch_split && degrees->pp > 1) samples /= degrees->pp;
    cost::LayerSplit split;
    split.tp = degrees->tp;
    split.cp = degrees->cp;
    split.ep = degrees->ep;
    split.expert_tp = degrees->expert_tp;
    split.sequence_parallel = degrees->sequence_parallel;
    split.samples = samples;
    split.context = degrees->context;
    cost::TableSlices slices;
    if (const int tables = plan.model.table_layer(); tables >= 0) {
      slices = cost::slice_tables(plan.model.layer(tables), degrees->table_split, degrees->ep);
      split.tables = &slices;
      cost::TableTiers tiers;
      tiers.weights = {1 - degrees->offload.weights, 0, degrees->offload.weights, 0};
      split.tier_seconds =
          cost::tier_seconds(tiers, cost::make_machine(plan.cluster, 0, plan.basis));
    }
    for (std::size_t kind = 0; kind < plan.model.kinds.size(); ++kind) {
      const model::LayerKind& layer = plan.model.kinds[kind];
      const auto count =
          std::count(plan.model.layers.begin(), plan.model.layers.end(), static_cast<int>(kind));
      answer.layers.push_back(
          {layer.name, static_cast<int>(count), cost::layer_cost(layer, kernels, split)});
      for (const model::Operator& op : layer.operators)
        answer.operators.push_back({layer.name, op.name, kind_name(op.kind), shape_text(op),
                                    cost::operator_cost(op, kernels, split)});
    }
  } else {
    answer.runs =
        runs_of(plan.degrees ? cost::expand_for(*plan.degrees, plan.model, plan.basis.stack)
                             : plan.placement);
  }
  const cost::StackLibrary& library = cost::builtin_stacks();
  for (const cost::ParameterInfo& info : cost::parameter_table()) {
    cost::FittedRange range;
    const std::string where =
        origin(library, plan.basis.stack, device, std::string(info.name), range);
    answer.parameters.push_back({std::string(info.name), parameters.*info.member,
                                 std::string(info.unit), std::string(info.meaning), where,
                                 range.low, range.high, range.rows});
  }
  return answer;
}

}  // namespace nereus::app
