// Realistic regular plans: models, clusters and stacks of the catalog, and degrees that pass the
// rules. For tests and benchmarks.
//
//   Random random(7);
//   while (const auto plan = real_plan(random)) ...     // empty if the draw violates a rule
#pragma once

#include <optional>

#include "base/random.hpp"
#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "plan/complete.hpp"
#include "plan/rules.hpp"
#include "predict/predictor.hpp"
#include "stack/stack_file.hpp"

namespace nereus::simulate::testing {

struct RealPlan {
  model::Model model;
  cluster::Cluster cluster;
  cost::Basis basis;
  plan::Degrees degrees;
  cost::StepWork work() const { return cost::Predictor(model, cluster, basis, 1).work(degrees); }
};

inline std::optional<RealPlan> real_plan(Random& random) {
  using plan::Schedule;
  const char* const models[] = {"llama3-8b",  "llama3-70b",  "llama2-7b",
                                "gpt3-175b",  "gpt2-xl",     "mixtral-8x7b",
                                "bert-large", "megatron-1t", "turing-530b"};
  const char* const clusters[] = {"1xdgx-h100",    "4xdgx-h100",  "16xdgx-a100-80", "2xdgx-b200",
                                  "8xp3.16xlarge", "64xdgx-h100", "16xg5.48xlarge"};
  const auto one_of = [&](const auto& list) { return list[random.below(std::size(list))]; };
  RealPlan out{model::load_model(one_of(models)), cluster::load_cluster(one_of(clusters)), {}, {}};
  out.basis.stack = cost::builtin_stacks().resolve(one_of(cost::builtin_stacks().stack_names()));
  const int powers[] = {1, 2, 4, 8, 16};
  plan::DegreesRequest request;
  request.tp = one_of(powers);
  request.pp = one_of(powers);
  request.cp = random.below(4) == 0 ? 2 : 1;
  request.micro_batch = one_of(powers);
  request.schedule = static_cast<Schedule>(random.below(9));
  if (*request.schedule == Schedule::kInterleaved || *request.schedule == Schedule::kLoopedBfs)
    request.interleave = 1 + static_cast<int>(random.below(4));
  if (*request.schedule == Schedule::kZbV) request.interleave = 2;
  request.zero = static_cast<int>(random.below(4));
  request.recompute = static_cast<plan::Recompute>(random.below(3));
  request.sequence_parallel = *request.tp > 1 && random.below(2) == 0;
  const int used = *request.tp * *request.pp * *request.cp;
  if (out.cluster.num_devices() % used != 0) return {};
  request.dp = out.cluster.num_devices() / used;
  request.global_batch =
      *request.dp * *request.micro_batch * *request.pp * static_cast<int>(1 + random.below(8));
  out.degrees = plan::complete_degrees(request, out.model, out.cluster).degrees;
  out.degrees.data_overlap = random.below(2) == 0;
  if (plan::violated_rules(out.degrees, plan::degree_limits(out.model, out.cluster)) != 0)
    return {};
  return out;
}

}  // namespace nereus::simulate::testing
