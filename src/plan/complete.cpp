#include "plan/complete.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/rules.hpp"
#include "plan/stages.hpp"

namespace nereus::plan {

namespace {

using cluster::Precision;

constexpr int kUsualRecords = 4096;  // of a recommendation model, on one device

// Degrees may be anything a user typed, so products are held within int and divisors above zero.
int held(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 1, std::numeric_limits<int>::max()));
}

Precision best_precision(const cluster::Cluster& cluster) {
  for (Precision p : {Precision::kBf16, Precision::kFp16, Precision::kFp32})
    if (std::all_of(cluster.groups.begin(), cluster.groups.end(),
                    [&](const cluster::NodeGroup& group) { return group.node.device.has(p); }))
      return p;
  return Precision::kBf16;
}

// The first axis that was not given takes the devices the others leave.
void fill_axes(Degrees& d, const DegreesRequest& request, int devices) {
  d.tp = request.tp.value_or(1);
  d.pp = request.pp.value_or(1);
  d.dp = request.dp.value_or(1);
  d.cp = request.cp.value_or(1);
  const auto left = [&] {
    const std::int64_t taken =
        std::int64_t{held(std::int64_t{std::max(d.tp, 1)} * std::max(d.pp, 1))} *
        held(std::int64_t{std::max(d.dp, 1)} * std::max(d.cp, 1));
    return held(devices / taken);
  };
  if (!request.dp)
    d.dp = left();
  else if (!request.pp)
    d.pp = left();
  else if (!request.tp)
    d.tp = left();
  else if (!request.cp)
    d.cp = left();
}

int default_expert_tp(const Degrees& d, const model::Model& model) {
  const bool has_experts = model.transformer && model.transformer->experts > 0;
  const std::int64_t data_group = std::int64_t{d.dp} * d.cp;
  if (!has_experts || d.ep < 1 || data_group % d.ep != 0) return 1;
  return model.transformer->expert_ffn % std::max(d.tp, 1) == 0 ? d.tp : 1;
}

ContextKind default_context(const Degrees& d, const model::Model& model) {
  if (d.cp <= 1 || !model.transformer) return ContextKind::kZigzag;
  const bool evens_out =
      model.transformer->causal && model.transformer->seq % (2 * std::int64_t{d.cp}) == 0;
  return evens_out ? ContextKind::kZigzag : ContextKind::kRing;
}

// A schedule of virtual stages has two a rank, where the layers fill them.
int default_interleave(const Degrees& d, const DegreesRequest& request, const model::Model& model) {
  if (d.pp <= 1 || !request.schedule) return 1;
  const bool loops =
      *request.schedule == Schedule::kInterleaved || *request.schedule == Schedule::kLoopedBfs;
  const int least = interleave_rule(*request.schedule).least;
  return loops && 2 * std::int64_t{d.pp} <= layer_span(model).most_stages() ? std::max(2, least)
                                                                            : least;
}

}  // namespace

CompletedDegrees complete_degrees(const DegreesRequest& request, const model::Model& model,
                                  const cluster::Cluster& cluster) {
  CompletedDegrees result;
  Degrees& d = result.degrees;
  const auto note = [&](bool given, const char* name) {
    if (!given) result.derived.emplace_back(name);
  };
  fill_axes(d, request, cluster.num_devices());
  note(request.tp.has_value(), "tp");
  note(request.pp.has_value(), "pp");
  note(request.dp.has_value(), "dp");
  note(request.cp.has_value(), "cp");

  const auto fill = [&](auto& field, const auto& given, auto fallback, const char* name) {
    field = given ? *given : fallback;
    note(given.has_value(), name);
  };
  fill(d.ep, request.ep, 1, "ep");
  fill(d.expert_tp, request.expert_tp, default_expert_tp(d, model), "expert_tp");
  fill(d.interleave, request.interleave, default_interleave(d, request, model), "interleave");
  const bool tables = model.table_layer() >= 0;
  const int records =
      request.global_batch ? held(*request.global_batch / std::max(1, d.dp)) : kUsualRecords;
  fill(d.micro_batch, request.micro_batch, tables ? records : 1, "micro_batch");
  const int per_pass = held(std::int64_t{d.dp} * d.micro_batch);
  fill(d.global_batch, request.global_batch,
       held(tables ? per_pass : std::int64_t{per_pass} * std::max(1, d.pp) * 4), "global_batch");
  const bool varuna = d.pp > 1 && request.schedule == Schedule::kVaruna;
  fill(d.recompute, request.recompute, varuna ? Recompute::kFull : Recompute::kNone, "recompute");
  fill(d.zero, request.zero, 0, "zero");
  fill(d.zero_group, request.zero_group, 0, "zero_group");
  fill(d.sequence_parallel, request.sequence_parallel, false, "sequence_parallel");
  fill(d.precision, request.precision, best_precision(cluster), "precision");
  fill(d.schedule, request.schedule, d.interleave > 1 ? Schedule::kInterleaved : Schedule::k1f1b,
       "schedule");
  fill(d.context, request.context, default_context(d, model), "context");
  d.table_split = request.table_split.value_or(TableSplit::kTable);
  if (tables) note(request.table_split.has_value(), "table_split");
  fill(d.offload, request.offload, Offload{}, "offload");
  return result;
}

int default_global_batch(const model::Model& model, const cluster::Cluster& cluster) {
  constexpr double kUsualTokens = 4 << 20;
  constexpr double kUsualSamples = 32;  // a device
  const int devices = std::max(1, cluster.num_devices());
  const double wanted = model.tokens_per_sample > 0 ? kUsualTokens / model.tokens_per_sample
                        : model.table_layer() >= 0  ? double{kUsualRecords} * devices
                                                    : kUsualSamples * devices;
  const double rounds = std::exp2(std::round(std::log2(std::max(1.0, wanted / devices))));
  return static_cast<int>(std::min(rounds * devices, 1e9));
}

}  // namespace nereus::plan
