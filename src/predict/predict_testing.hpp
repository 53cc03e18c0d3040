// Random plans, with models and clusters, for property tests of predictions.
//
//   const Case c = any_case();                              // inside rc::check
//   Predictor(c.model, c.cluster, c.basis).predict(c.degrees);
#pragma once

#include <ostream>
#include <string>

#include "cost/basis.hpp"
#include "cost/cost_testing.hpp"
#include "plan/plan_json.hpp"
#include "plan/rules.hpp"
#include "predict/general/general_predictor.hpp"
#include "predict/prediction.hpp"

namespace nereus::cost::testing {

// Degrees of every kind that the closed form supports, mostly valid or nearly valid.
inline plan::Degrees any_degrees(bool experts) {
  plan::Degrees d;
  d.tp = pick({1, 1, 2, 4, 8});
  d.cp = pick({1, 1, 1, 2, 4});
  d.pp = *rc::gen::inRange(1, 7);
  d.dp = *rc::gen::inRange(1, 9);
  do {
    d.schedule = static_cast<plan::Schedule>(*rc::gen::inRange(0, 9));
  } while (!has_general_form(d.schedule));
  const plan::InterleaveRule chunks = plan::interleave_rule(d.schedule);
  if (d.pp > 1) d.interleave = *rc::gen::inRange(chunks.least, std::min(chunks.most, 3) + 1);
  d.micro_batch = *rc::gen::inRange(1, 5);
  const plan::MicroBatchRule rule = plan::micro_batch_rule(d.schedule, d.pp, d.interleave);
  d.global_batch = d.dp * d.micro_batch * static_cast<int>(rule.least) * *rc::gen::inRange(1, 9);
  if (experts) {
    d.ep = pick({1, 2, 4});
    d.expert_tp = pick({1, 1, 2});
  }
  d.recompute = static_cast<plan::Recompute>(*rc::gen::inRange(0, 3));
  if (d.recompute == plan::Recompute::kFull) d.recompute_blocks = *rc::gen::inRange(0, 4);
  d.zero = *rc::gen::inRange(0, 4);
  d.zero_group = pick({0, 0, 1, 2, 4});
  d.sequence_parallel = d.tp > 1 && *rc::gen::arbitrary<bool>();
  d.tensor_overlap = *rc::gen::arbitrary<bool>();
  d.data_overlap = *rc::gen::arbitrary<bool>();
  d.precision =
      pick({cluster::Precision::kBf16, cluster::Precision::kFp16, cluster::Precision::kFp32,
            cluster::Precision::kFp8, cluster::Precision::kMxfp8, cluster::Precision::kNvfp4});
  d.context =
      pick({plan::ContextKind::kRing, plan::ContextKind::kZigzag, plan::ContextKind::kAllToAll});
  if (*rc::gen::inRange(0, 3) == 0)
    d.offload = {pick({0.0, 0.25, 1.0}), pick({0.0, 0.5, 1.0}), pick({0.0, 0.75, 1.0})};
  return d;
}

struct Case {
  model::Model model;
  cluster::Cluster cluster;
  Basis basis;
  plan::Degrees degrees;
};

inline Case any_case(bool may_have_experts = true) {
  Case c;
  c.model = any_transformer(may_have_experts);
  c.basis.stack = any_stack();
  do {
    c.degrees = any_degrees(c.model.transformer->experts > 0);
    c.cluster = any_cluster(c.degrees.num_ranks());
    const std::vector<cluster::MemoryTier>& tiers = c.cluster.groups.front().node.tiers;
    if (tiers.empty() || c.degrees.offload.none())
      c.degrees.offload = {};
    else
      c.degrees.offload.tier = *plan::parse_tier((*rc::gen::elementOf(tiers)).name);
  } while (plan::violated_rules(c.degrees, plan::degree_limits(c.model, c.cluster)) != 0);
  return c;
}

// Models with embedding tables, shared in every way, with or without replicas.
inline Case any_dlrm_case() {
  Case c;
  c.model = any_dlrm();
  c.basis.stack = any_stack();
  do {
    plan::Degrees& d = c.degrees;
    d = any_degrees(false);
    d.tp = d.pp = d.cp = d.interleave = 1;
    d.sequence_parallel = false;
    d.dp = pick({1, 2, 4, 6, 8, 16, 24});
    d.ep = pick({1, 2, 4, 8, d.dp});
    d.table_split = static_cast<plan::TableSplit>(*rc::gen::inRange(0, 4));
    d.micro_batch = pick({1, 7, 64, 4096});
    d.global_batch = d.dp * d.micro_batch * *rc::gen::inRange(1, 4);
    c.cluster = any_cluster(d.num_ranks());
    if (c.cluster.groups.front().node.tiers.empty()) d.offload = {};
  } while (plan::violated_rules(c.degrees, plan::degree_limits(c.model, c.cluster)) != 0);
  return c;
}

// The text that a failed property shows for its case.
inline std::string describe(const Case& c) {
  return c.basis.stack.name + " " +
         plan::plan_to_json({1, c.model, c.cluster, c.basis.stack.name, c.degrees, {}});
}

}  // namespace nereus::cost::testing
