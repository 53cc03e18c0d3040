// Random plans for the tests of this folder.
#pragma once

#include <rapidcheck.h>

#include <string>

#include "plan/degrees.hpp"
#include "plan/rules.hpp"
#include "plan/test_models.hpp"

namespace nereus::plan::testing {

template <class T>
T pick(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}

// Degrees of every kind, mostly valid or nearly valid.
inline Degrees any_degrees() {
  Degrees d;
  d.tp = pick({1, 1, 2, 4, 8});
  d.cp = pick({1, 1, 1, 2, 4});
  d.pp = *rc::gen::inRange(1, 6);
  d.dp = *rc::gen::inRange(1, 7);
  d.schedule = static_cast<Schedule>(*rc::gen::inRange(0, 9));
  const InterleaveRule chunks = interleave_rule(d.schedule);
  d.interleave = d.pp == 1 ? 1 : *rc::gen::inRange(chunks.least, std::min(chunks.most, 3) + 1);
  d.micro_batch = *rc::gen::inRange(1, 4);
  const MicroBatchRule rule = micro_batch_rule(d.schedule, d.pp, d.interleave);
  const int steps = *rc::gen::inRange(1, 4);
  const auto micro_batches =
      static_cast<int>((rule.least + rule.multiple - 1) / rule.multiple * rule.multiple +
                       rule.multiple * (steps - 1));
  d.global_batch = d.dp * d.micro_batch * micro_batches;
  d.ep = pick({1, 2, 4, 8});
  d.expert_tp = pick({1, 1, 2});
  d.recompute = static_cast<Recompute>(*rc::gen::inRange(0, 3));
  if (d.recompute == Recompute::kFull) d.recompute_blocks = *rc::gen::inRange(0, 4);
  d.zero = *rc::gen::inRange(0, 4);
  d.zero_group = pick({0, 0, 1, 2, 3, 4, 6});
  d.sequence_parallel = *rc::gen::arbitrary<bool>();
  d.tensor_overlap = *rc::gen::arbitrary<bool>();
  d.data_overlap = *rc::gen::arbitrary<bool>();
  d.precision = pick({cluster::Precision::kBf16, cluster::Precision::kFp16});
  d.context = static_cast<ContextKind>(*rc::gen::inRange(0, 3));
  const auto share = [] { return *rc::gen::inRange(0, 17) / 16.0; };
  if (*rc::gen::arbitrary<bool>())
    d.offload = {share(), share(), share(), pick({Tier::kHost, Tier::kExpanded})};
  return d;
}

struct RandomPlan {
  model::Model model;
  cluster::Cluster cluster;
  Degrees degrees;
};

// A random model, degrees that can be built on it, and a cluster of matching size.
inline RandomPlan any_valid_plan() {
  RandomPlan plan;
  const int layers = *rc::gen::inRange(1, 20);
  const bool experts = *rc::gen::arbitrary<bool>();
  plan.model = experts ? make_experts(layers, *rc::gen::inRange(0, layers + 1))
                       : make_dense(layers, *rc::gen::arbitrary<bool>());
  while (true) {
    plan.degrees = any_degrees();
    if (!experts) plan.degrees.ep = plan.degrees.expert_tp = 1;
    plan.cluster = make_cluster(plan.degrees.num_ranks());
    if (violated_rules(plan.degrees, degree_limits(plan.model, plan.cluster)) == 0) return plan;
  }
}

}  // namespace nereus::plan::testing
