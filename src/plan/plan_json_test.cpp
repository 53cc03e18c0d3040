#include "plan/plan_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <set>

#include "base/temporary_folder.hpp"
#include "plan/check.hpp"
#include "plan/expand.hpp"
#include "plan/test_plans.hpp"

namespace nereus::plan::plan_json_test {
namespace {

using ::testing::HasSubstr;
using testing::make_cluster;
using testing::make_dense;

Plan make_plan(const Degrees& degrees, const model::Model& model) {
  Plan plan;
  plan.model = model;
  plan.cluster = make_cluster(degrees.num_ranks());
  plan.stack = "megatron";
  plan.degrees = degrees;
  plan.placement = expand(degrees, model);
  return plan;
}

std::vector<Error> errors_of(std::string_view text) {
  try {
    parse_plan(text, "test.plan");
  } catch (const Errors& errors) {
    return errors.list();
  }
  return {};
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

// Any value in any field of the general form, sound or not: the file must carry it.
Placement any_placement() {
  Placement p;
  const auto whole = [](int least) { return *rc::gen::inRange(least, 1 << 30); };
  const auto stride = [] { return *rc::gen::inRange(-(1 << 30), 1 << 30); };
  const auto units = [] { return *rc::gen::inRange<std::int64_t>(0, kStateUnits + 1); };
  const auto share = [] { return *rc::gen::inRange(0, 1000001) / 1000000.0; };
  p.global_batch = whole(1);
  p.precision = static_cast<cluster::Precision>(*rc::gen::inRange(0, cluster::kNumPrecisions));
  p.sequence_parallel = *rc::gen::arbitrary<bool>();
  p.split_vocabulary = *rc::gen::arbitrary<bool>();
  p.schedule = static_cast<Schedule>(*rc::gen::inRange(0, 9));
  p.context = static_cast<ContextKind>(*rc::gen::inRange(0, 3));
  p.gather = static_cast<Gather>(*rc::gen::inRange(0, 3));
  for (int n = *rc::gen::inRange(1, 4); n > 0; --n) {
    LayerRun run{.first_layer = whole(0), .num_layers = whole(1), .stage = whole(0)};
    run.ep = whole(1);
    run.expert_tp = whole(1);
    for (int k = *rc::gen::inRange(1, 4); k > 0; --k)
      run.replicas.push_back({.count = whole(1),
                              .first = whole(0),
                              .team_stride = stride(),
                              .tp = whole(1),
                              .cp = whole(1),
                              .tensor_stride = stride(),
                              .context_stride = stride(),
                              .micro_batch = whole(1),
                              .num_micro_batches = whole(1),
                              .last_micro_batch = whole(0),
                              .first_sample = units(),
                              .team_sample_stride = -units(),
                              .micro_batch_stride = units(),
                              .recompute = static_cast<Recompute>(*rc::gen::inRange(0, 3)),
                              .recompute_layers = whole(-1),
                              .offload_activations = share(),
                              .offload_tier = static_cast<Tier>(*rc::gen::inRange(0, 4))});
    for (int k = *rc::gen::inRange(0, 4); k > 0; --k) {
      StateShare s;
      s.kind = static_cast<StateKind>(*rc::gen::inRange(0, 3));
      s.experts = *rc::gen::arbitrary<bool>();
      s.cut = whole(1);
      s.first_slice = whole(0);
      s.num_slices = whole(1);
      s.slice_stride = stride();
      for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
        s.ranks.push_back({whole(0), whole(1), whole(1)});
      s.pieces = whole(1);
      s.begin = units();
      s.end = units();
      s.tier = static_cast<Tier>(*rc::gen::inRange(0, 4));
      s.peer_copy = *rc::gen::arbitrary<bool>();
      run.state.push_back(s);
    }
    p.runs.push_back(run);
  }
  return p;
}

RC_GTEST_PROP(PlanJson, EveryPlacementReadsBackEqual, ()) {
  Plan plan = make_plan({}, make_dense(2));
  plan.degrees.reset();
  plan.placement = any_placement();
  RC_ASSERT(parse_plan(plan_to_json(plan), "test.plan") == plan);
}

// The checker answers on whatever a file may say, and quickly.
RC_GTEST_PROP(PlanJson, NonsenseIsJudgedToo, ()) {
  const model::Model model = make_dense(2);
  Placement p = any_placement();
  const bool in_order = *rc::gen::arbitrary<bool>();
  for (int i = 0; in_order && i < static_cast<int>(p.runs.size()); ++i) {
    // Layers that fit, so that the other halves of the checker see the nonsense too.
    const bool last = i + 1 == static_cast<int>(p.runs.size());
    LayerRun& run = p.runs[i];
    run.first_layer = i;
    run.num_layers = last ? model.num_layers() - i : 1;
    run.stage = 0;
    p.global_batch = *rc::gen::inRange(1, 100);
  }
  RC_ASSERT(!check(p, model, make_cluster(8)).empty());
  RC_ASSERT(!as_regular(p, model).has_value());
  RC_ASSERT(!as_regular_with_own_stages(p, model).has_value());
}

RC_GTEST_PROP(PlanJson, EveryRegularPlanReadsBackEqualAndSound, ()) {
  const auto random = testing::any_valid_plan();
  Plan plan = make_plan(random.degrees, random.model);
  const Plan again = parse_plan(plan_to_json(plan), "test.plan");
  RC_ASSERT(again == plan);
  RC_ASSERT(check_plan(again).empty());
  RC_ASSERT(plan_to_json(again) == plan_to_json(plan));
}

TEST(PlanJson, AnotherSchemaVersionIsNotRead) {
  const std::string text = plan_to_json(make_plan({}, make_dense(2)));
  auto errors = errors_of(replaced(text, "\"schema_version\": 1", "\"schema_version\": 7"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "plan.schema-version");
  EXPECT_EQ(errors[0].where.line, 2);
  EXPECT_THAT(errors[0].message, HasSubstr("7"));
  EXPECT_THAT(errors[0].hint, HasSubstr("newer"));
  errors = errors_of(replaced(text, "\"schema_version\": 1,", ""));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "spec.missing-key");
}

TEST(PlanJson, FaultsAreSaidAtOnceWithTheirPlaces) {
  std::string text = plan_to_json(make_plan({.dp = 2, .global_batch = 4}, make_dense(2)));
  text = replaced(text, "\"num_micro_batches\"", "\"num_micro_batch\"");
  text = replaced(text, "\"gradients\"", "\"gradient\"");
  text = replaced(text, "[[0,2,1]]", "[[0,2]]");
  text = replaced(text, "\"schedule\": \"1f1b\"", "\"schedule\": 1");
  const auto errors = errors_of(text);
  std::set<std::string> codes;
  for (const Error& error : errors) {
    codes.insert(error.code);
    EXPECT_GT(error.where.line, 0) << error.message;
    EXPECT_GT(error.where.column, 0) << error.message;
    EXPECT_EQ(error.where.file, "test.plan");
  }
  EXPECT_TRUE(codes.contains("spec.unknown-key"));
  EXPECT_TRUE(codes.contains("spec.missing-key"));
  EXPECT_TRUE(codes.contains("spec.choice"));
  EXPECT_TRUE(codes.contains("spec.type"));
  EXPECT_TRUE(codes.contains("plan.ranks"));
}

TEST(PlanJson, ANumberOutOfRangeIsNamed) {
  const std::string text = plan_to_json(make_plan({.dp = 2, .global_batch = 4}, make_dense(2)));
  const auto errors = errors_of(replaced(text, "[[0,2,1]]", "[[0,1000000000000,1]]"));
  ASSERT_FALSE(errors.empty());
  EXPECT_NE(errors[0].message.find("found count = 1000000000000, outside 1 .. "), std::string::npos)
      << errors[0].message;
}

TEST(PlanJson, EveryTruncationIsAnError) {
  const std::string text = plan_to_json(make_plan({.dp = 2, .global_batch = 4}, make_dense(2)));
  for (std::size_t size = 0; size + 2 < text.size(); size += 7)
    ASSERT_FALSE(errors_of(text.substr(0, size)).empty()) << size;
  EXPECT_FALSE(
      errors_of(replaced(text, "[\"weights\",\"gradients\",\"optimizer\"]", "[]")).empty());
  EXPECT_FALSE(errors_of("[]").empty());
  EXPECT_FALSE(errors_of("{}").empty());
  EXPECT_FALSE(errors_of("null").empty());
}

TEST(PlanJson, DegreesMustDescribeThePlacement) {
  Plan plan = make_plan({.dp = 2, .global_batch = 4}, make_dense(4));
  EXPECT_TRUE(check_plan(plan).empty());
  plan.degrees->recompute = Recompute::kFull;
  ASSERT_EQ(check_plan(plan).size(), 1u);
  EXPECT_EQ(check_plan(plan)[0].code, "plan.degrees-disagree");
  plan.degrees->tp = 3;
  EXPECT_EQ(check_plan(plan)[0].code, "plan.devices");
  plan.degrees.reset();
  EXPECT_TRUE(check_plan(plan).empty());
}

TEST(PlanJson, FilesAreWrittenWholeAndReadBack) {
  const TemporaryFolder folder;
  const std::string path = folder / "best.plan";
  const Plan plan = make_plan({.pp = 2, .global_batch = 4}, make_dense(4));
  save_plan(path, plan);
  EXPECT_EQ(load_plan(path), plan);

  Plan unsound = plan;
  unsound.degrees.reset();
  unsound.placement.runs[1].replicas[0].first = 0;
  save_plan(path, unsound);  // replaces the old one
  try {
    load_plan(path);
    ADD_FAILURE() << "an unsound plan was read";
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list()[0].code, "plan.schedule");
    EXPECT_EQ(errors.list()[0].where.file, path);
  }
  EXPECT_THROW(save_plan(folder.path(), plan), Errors);
  EXPECT_THROW(save_plan(folder / "none/best.plan", plan), Errors);
  EXPECT_THROW(load_plan(folder.path()), Errors);
  EXPECT_THROW(load_plan(folder / "none.plan"), Errors);
  EXPECT_EQ(folder.num_entries(), 1) << "something is left beside the plan";
}

TEST(PlanJson, SmallAndFastAtScale) {
  const model::Model model = make_dense(126);
  Plan plan = make_plan({.tp = 8,
                         .pp = 16,
                         .dp = 128,
                         .interleave = 8,
                         .global_batch = 2048,
                         .zero = 1,
                         .schedule = Schedule::kInterleaved},
                        model);
  plan.cluster = make_cluster(2048, 8);
  const auto measure = [&](const char* name, double most_seconds) {
    const std::string text = plan_to_json(plan);
    double best = 1e9;  // of five, since others may use the machine
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      const Plan again = parse_plan(text, "test.plan");
      const auto end = std::chrono::steady_clock::now();
      best = std::min(best, std::chrono::duration<double>(end - start).count());
      EXPECT_EQ(again, plan);
    }
    std::printf("plan of 16,384 ranks x 126 layers, %s: %zu bytes, read in %.2f ms\n", name,
                text.size(), best * 1e3);
    EXPECT_LE(text.size(), 1'000'000u);
    EXPECT_LT(best, most_seconds);
  };
  measure("regular", 0.05);

  // Every layer a run of its own on all ranks.
  plan.degrees.reset();
  plan.placement = expand({.tp = 8, .dp = 2048, .global_batch = 2048, .zero = 3}, model);
  const LayerRun all = plan.placement.runs[0];
  plan.placement.runs.assign(static_cast<std::size_t>(model.num_layers()), all);
  for (int i = 0; i < model.num_layers(); ++i) {
    plan.placement.runs[i].first_layer = i;
    plan.placement.runs[i].num_layers = 1;
  }
  measure("layer by layer", 0.05);

  // Uneven: sixteen kinds of replicas with their own samples and shares in every layer.
  for (LayerRun& run : plan.placement.runs) {
    const Replicas kind = run.replicas[0];
    const StateShare share = run.state[0];
    run.replicas.clear();
    run.state.clear();
    for (int k = 0; k < 16; ++k) {
      run.replicas.push_back(kind);
      run.replicas.back().first = k * 1024;
      run.replicas.back().count = 128;
      run.replicas.back().first_sample = k * 128;
      run.replicas.back().team_sample_stride = 1;
      for (StateKind state : {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer}) {
        run.state.push_back(share);
        run.state.back().kind = state;
        run.state.back().ranks = {{k * 1024, 128, 8}};
        run.state.back().pieces = 128;
        run.state.back().begin = kStateUnits / 16 * k;
        run.state.back().end = kStateUnits / 16 * (k + 1);
      }
    }
  }
  measure("16 kinds of ranks", 0.5);  // 14 ms in a Release; sanitizers take more
  EXPECT_TRUE(check_plan(plan).empty());
}

}  // namespace
}  // namespace nereus::plan::plan_json_test
