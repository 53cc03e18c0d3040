// Measurements decide for any software: choosing another stack keeps them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/exchange/export_plan.hpp"
#include "app/exchange/import_plan.hpp"
#include "app/plan/plan_verb.hpp"
#include "app/simulate/simulate_plan.hpp"
#include "base/temporary_folder.hpp"
#include "plan/plan_json.hpp"
#include "profile/profile.hpp"
#include "spec/source.hpp"
#include "tests/source_dir.hpp"

namespace nereus::app::plan_measured_test {
namespace {

using exporting::Engine;

constexpr const char* kCluster = "1xdgx-h100";
constexpr Engine kEngines[] = {Engine::kMegatron, Engine::kDeepspeed, Engine::kTorchtitan,
                               Engine::kFsdp};

// All-reduces of eight H100 at 1.75 GB/s: two hundred times slower than NVLink.
profile::Profile slow_all_reduces() {
  profile::Profile out;
  out.machine.context.device = "H100-SXM-80GB";
  out.machine.context.backend = "nccl";
  out.machine.context.ranks = 8;
  for (const double bytes : {1e6, 1e9}) {
    const double seconds = 1e-2 + bytes / 1e9;
    out.machine.collectives.push_back(
        {"all_reduce", "nccl", 8, 1, bytes, {seconds, seconds, seconds, 9}});
  }
  return out;
}

class PlanMeasured : public ::testing::Test {
 protected:
  PlanRequest request(std::optional<Engine> engine, bool measured) const {
    PlanRequest out;
    out.model.model = "llama3-8b";
    out.cluster.cluster = kCluster;
    out.choices.global_batch = 64;
    out.options.top = 1;
    out.engine = engine;
    if (measured) out.calibration.profiles = {profile_};
    return out;
  }
  static double step_of(const PlanRequest& request) {
    return plan(request).plans.at(0).prediction.step;
  }

  TemporaryFolder folder_;
  std::string profile_ = folder_.write("slow.json", profile::profile_to_json(slow_all_reduces()));
};

// The engine's stack is the same whether it is meant by its name or by the engine's.
TEST_F(PlanMeasured, AnEnginesPlansTakeTheMeasuredNetwork) {
  for (const Engine engine : kEngines) {
    SCOPED_TRACE(std::string(exporting::to_string(engine)));
    const PlanAnswer chosen = plan(request(engine, true));
    ASSERT_TRUE(chosen.inputs.basis.networks);
    const std::string& stack = chosen.inputs.basis.stack.name;
    EXPECT_EQ(stack, engine_stack(engine, chosen.inputs.cluster));
    PlanRequest named = request(engine, true);
    named.calibration.stack = stack;
    EXPECT_EQ(chosen.plans.at(0).prediction.step, step_of(named));
    EXPECT_GT(chosen.plans.at(0).prediction.step, 1.5 * step_of(request(engine, false)));

    // As predict gives it for the same plan.
    const std::string file = folder_.path() + "/best.plan";
    plan::save_plan(file, to_plan(chosen.plans.at(0).plan));
    PredictRequest again;
    again.plan_file = file;
    again.calibration.profiles = {profile_};
    const PredictAnswer predicted = predict(again);
    EXPECT_EQ(predicted.plan.basis.stack.name, stack);
    EXPECT_NEAR(predicted.prediction.step, chosen.plans[0].prediction.step,
                1e-9 * predicted.prediction.step);
  }
}

// Measured layers stay as well.
TEST_F(PlanMeasured, AnEnginesPlansTakeMeasuredLayers) {
  PlanRequest wanted;
  wanted.model.model = "opt-350m";
  wanted.cluster.cluster = "1xa2-highgpu-4g";
  wanted.choices.global_batch = 64;
  wanted.options.top = 1;
  wanted.calibration.profiles = {source_dir() +
                                 "/data/profiles/sailor/OPT-350/A100-40/profile.json"};
  for (const Engine engine : kEngines) {
    if (engine == Engine::kTorchtitan) continue;  // it trains no OPT
    SCOPED_TRACE(std::string(exporting::to_string(engine)));
    wanted.engine = engine;
    const PlanAnswer answer = plan(wanted);
    ASSERT_TRUE(answer.inputs.basis.layers);
    ASSERT_FALSE(answer.plans.empty());
    EXPECT_FALSE(answer.plans[0].sources.empty());
  }
}

// If nothing fits, suggested changes also use the measured network.
TEST_F(PlanMeasured, LiftsTakeTheMeasuredNetwork) {
  const auto lifts_of = [&](bool measured) {
    PlanRequest tight = request(Engine::kMegatron, measured);
    tight.choices.tp = {8};
    tight.choices.recompute = {search::RecomputeChoice::kNone};
    tight.options.headroom = 0.9;
    return plan(tight).lifts;
  };
  const std::vector<Lift> stated = lifts_of(false);
  const std::vector<Lift> measured = lifts_of(true);
  ASSERT_FALSE(stated.empty());
  ASSERT_EQ(measured.size(), stated.size());
  for (std::size_t i = 0; i < stated.size(); ++i)
    EXPECT_GT(measured[i].step, stated[i].step) << measured[i].change;
}

// A job of an engine is imported with the engine's software, and so are its neighbors.
TEST_F(PlanMeasured, AnImportedJobAndItsNeighboursTakeTheMeasuredNetwork) {
  const std::string file = folder_.path() + "/best.plan";
  plan::save_plan(file, to_plan(plan(request(Engine::kMegatron, false)).plans.at(0).plan));
  export_plan({file, Engine::kMegatron, folder_.path() + "/job"});
  ImportRequest wanted;
  wanted.path = folder_.path() + "/job";
  const double stated = import_plan(wanted).prediction.prediction.step;
  wanted.calibration.profiles = {profile_};
  const ImportAnswer answer = import_plan(wanted);
  const double measured = answer.prediction.prediction.step;
  EXPECT_GT(measured, 1.5 * stated);
  ASSERT_TRUE(answer.best);  // on such a network other plans are better, and all of them slower
  EXPECT_GT(answer.best->step, stated);
  for (const Change& change : answer.changes) EXPECT_GT(change.step, stated) << change.what;
}

// `predict --profile --stack`: today's rule, whatever library was measured.
TEST_F(PlanMeasured, AnyStackIsPredictedOnTheMeasuredNetwork) {
  PredictRequest wanted;
  wanted.model.model = "llama3-8b";
  wanted.cluster.cluster = kCluster;
  wanted.degrees.tp = 1;
  wanted.degrees.dp = 8;
  wanted.degrees.global_batch = 64;
  for (const char* stack : {"nemo", "nanotron", "torchtitan", "generic"}) {
    SCOPED_TRACE(stack);
    wanted.calibration = {.stack = stack};
    const double stated = predict(wanted).prediction.step;
    wanted.calibration.profiles = {profile_};
    const PredictAnswer measured = predict(wanted);
    EXPECT_GT(measured.prediction.step, 1.2 * stated);
    EXPECT_NEAR(simulate_plan({.predict = wanted}).step.step, measured.prediction.step,
                1e-9 * measured.prediction.step);
  }
}

}  // namespace
}  // namespace nereus::app::plan_measured_test
