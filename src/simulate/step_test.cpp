#include "simulate/step.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdio>

#include "base/random.hpp"
#include "cluster/load.hpp"
#include "cost/general.hpp"
#include "cost/predict.hpp"
#include "cost/testing.hpp"
#include "model/load.hpp"
#include "plan/complete.hpp"
#include "plan/rules.hpp"

namespace nereus::simulate {
namespace {

using cost::testing::Case;

cost::StepWork work_of(const Case& c) {
  return cost::Predictor(c.model, c.cluster, c.stack, 1).work(c.degrees);
}

// Only blocks, as many on each stage.
void make_equal(Case& c) {
  model::Model& model = c.model;
  std::vector<int> blocks;
  for (const int kind : model.layers)
    if (model.kinds[static_cast<std::size_t>(kind)].role == model::LayerRole::kBlock)
      blocks.push_back(kind);
  model.layers.assign(
      static_cast<std::size_t>(c.degrees.pp) * static_cast<std::size_t>(c.degrees.interleave) * 2,
      blocks.front());
  model.tied.clear();
  c.stack.options.stages = cost::StageRule::kEven;
}

// Equal stages and no overlap: the played step is the predicted one, but for rounding to
// picoseconds, one for every pass and message in a row.
RC_GTEST_PROP(Step, EqualsThePredictionOnEqualStages, ()) {
  Case c = cost::testing::any_case();
  make_equal(c);
  c.stack.settings["pipeline_overlap"] = 0;
  c.degrees.data_overlap = false;
  const bool split = cost::splits_backward(c.degrees.schedule);
  RC_PRE(c.degrees.pp == 1 || !split);  // those hold for F = B = W alone: play_test.cpp
  RC_PRE(plan::violated_rules(c.degrees, plan::degree_limits(c.model, c.cluster)) == 0);
  const cost::StepWork work = work_of(c);
  const SimulatedStep step = simulate_step(work, {});
  const int stages = work.num_stages();
  const double slack = 5e-12 * stages * (step.lanes.front().size.micro_batches + stages);
  RC_ASSERT(std::abs(step.step - work.prediction.step) <= 1e-9 * work.prediction.step + slack);
}

// A regular plan of a model and a cluster that people use.
std::optional<Case> real_case(Random& random) {
  const char* const models[] = {"llama3-8b",  "llama3-70b",  "llama2-7b",
                                "gpt3-175b",  "gpt2-xl",     "mixtral-8x7b",
                                "bert-large", "megatron-1t", "turing-530b"};
  const char* const clusters[] = {"1xdgx-h100",    "4xdgx-h100",  "16xdgx-a100-80", "2xdgx-b200",
                                  "8xp3.16xlarge", "64xdgx-h100", "16xg5.48xlarge"};
  const auto one_of = [&](const auto& list) { return list[random.below(std::size(list))]; };
  Case c;
  c.model = model::load_model(one_of(models));
  c.cluster = cluster::load_cluster(one_of(clusters));
  c.stack = cost::builtin_stacks().resolve(one_of(cost::builtin_stacks().stack_names()));
  const int powers[] = {1, 2, 4, 8, 16};
  plan::DegreesRequest request;
  request.tp = one_of(powers);
  request.pp = one_of(powers);
  request.cp = random.below(4) == 0 ? 2 : 1;
  request.micro_batch = one_of(powers);
  request.schedule = static_cast<plan::Schedule>(random.below(9));
  if (*request.schedule == plan::Schedule::kVaruna) request.schedule = plan::Schedule::k1f1b;
  if (*request.schedule == plan::Schedule::kInterleaved ||
      *request.schedule == plan::Schedule::kLoopedBfs)
    request.interleave = 1 + static_cast<int>(random.below(4));
  if (*request.schedule == plan::Schedule::kZbV) request.interleave = 2;
  request.zero = static_cast<int>(random.below(4));
  request.recompute = static_cast<plan::Recompute>(random.below(3));
  request.sequence_parallel = *request.tp > 1 && random.below(2) == 0;
  const int used = *request.tp * *request.pp * *request.cp;
  if (c.cluster.num_devices() % used != 0) return {};
  request.dp = c.cluster.num_devices() / used;
  request.global_batch =
      *request.dp * *request.micro_batch * *request.pp * static_cast<int>(1 + random.below(8));
  c.degrees = plan::complete_degrees(request, c.model, c.cluster).degrees;
  c.degrees.data_overlap = random.below(2) == 0;
  if (plan::violated_rules(c.degrees, plan::degree_limits(c.model, c.cluster)) != 0) return {};
  return c;
}

TEST(Step, Survey) {
  Random random(7);
  int cases = 0;
  double worst = 0, sum = 0;
  while (cases < 3000) {
    const std::optional<Case> some = real_case(random);
    if (!some) continue;
    const Case& c = *some;
    ++cases;
    const cost::StepWork work = work_of(c);
    const SimulatedStep step = simulate_step(work, {});
    const double error = step.step / work.prediction.step - 1;
    double span = 0;
    for (const PlayedRank& r : step.teams.front().played.ranks)
      span = std::max(span, static_cast<double>(r.end() - r.start()) * 1e-12);
    std::printf(
        "{\"s\":\"%s\",\"p\":%d,\"v\":%d,\"m\":%d,\"o\":%g,\"end\":%.12g,\"span\":%.12g,\"err\":%."
        "5f,\"name\":\"%"
        "s %s %s\",\"st\":[",
        std::string(to_string(c.degrees.schedule)).c_str(), c.degrees.pp, c.degrees.interleave,
        step.lanes.front().size.micro_batches, work.lanes[0].send_overlap,
        static_cast<double>(step.teams.front().played.end) * 1e-12, span, error,
        c.model.name.c_str(), c.cluster.name.c_str(), c.stack.name.c_str());
    for (std::size_t v = 0; v < work.lanes[0].passes.size(); ++v) {
      const auto& q = work.lanes[0].passes[v];
      std::printf("%s[%.12g,%.12g,%.12g,%.12g]", v ? "," : "", q.forward, q.input + q.recompute,
                  q.weight, work.lanes[0].send[v]);
    }
    std::printf("]}\n");
    worst = std::max(worst, std::abs(error));
    sum += std::abs(error);
  }
  std::printf("worst %.4f mean %.4f\n", worst, sum / cases);
}

}  // namespace
}  // namespace nereus::simulate
