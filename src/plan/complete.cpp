#include "plan/complete.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/degree_fields.hpp"
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

// The first axis that was not given gets the devices that the others leave.
void fill_axes(Degrees& d, const DegreesRequest& request, int devices) {
  const std::int64_t taken =
      std::int64_t{held(std::int64_t{std::max(d.tp, 1)} * std::max(d.pp, 1))} *
      held(std::int64_t{std::max(d.dp, 1)} * std::max(d.cp, 1));
  const int left = held(devices / taken);
  if (!request.dp)
    d.dp = left;
  else if (!request.pp)
    d.pp = left;
  else if (!request.tp)
    d.tp = left;
  else if (!request.cp)
    d.cp = left;
}

// Whether a derived value is worth reporting: not if it is always the same.
bool is_chosen(std::string_view name, bool has_tables) {
  if (name == "table_split") return has_tables;
  if (name == "state_types") return false;  // as the stack
  return name != "recompute_blocks" && name != "tensor_overlap" && name != "data_overlap";
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

// A schedule with virtual stages has two per rank, if there are enough layers.
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
  const bool tables = model.table_layer() >= 0;
  for_each_degree([&](const auto& field) {
    const auto& given = request.*field.request;
    if (given) d.*field.degree = *given;
    if (!given && is_chosen(field.name, tables)) result.derived.emplace_back(field.name);
  });
  fill_axes(d, request, cluster.num_devices());
  if (!request.expert_tp) d.expert_tp = default_expert_tp(d, model);
  if (!request.interleave) d.interleave = default_interleave(d, request, model);
  const int records =
      request.global_batch ? held(*request.global_batch / std::max(1, d.dp)) : kUsualRecords;
  if (!request.micro_batch && tables) d.micro_batch = records;
  const int per_pass = held(std::int64_t{d.dp} * d.micro_batch);
  if (!request.global_batch)
    d.global_batch = held(tables ? per_pass : std::int64_t{per_pass} * std::max(1, d.pp) * 4);
  if (!request.recompute && d.pp > 1 && request.schedule == Schedule::kVaruna)
    d.recompute = Recompute::kFull;
  if (!request.precision) d.precision = best_precision(cluster);
  if (!request.schedule && d.interleave > 1) d.schedule = Schedule::kInterleaved;
  if (!request.context) d.context = default_context(d, model);
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
