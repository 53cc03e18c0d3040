#include "app/exchange/import_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/exchange/export_plan.hpp"
#include "base/temporary_folder.hpp"
#include "plan/plan_json.hpp"
#include "plan/rules.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app::import_plan_test {
namespace {

class ImportTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  ImportAnswer import_script(const std::string& flags) {
    ImportRequest request;
    request.path = folder_.write("run.sh", "torchrun pretrain_gpt.py " + flags + "\n");
    request.cluster.cluster = "2xdgx-h100";
    return import_plan(request);
  }

  TemporaryFolder folder_;
};

const std::string kLlama8b =
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
    "--group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 "
    "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
    "--untie-embeddings-and-output-weights --vocab-size 128256 --micro-batch-size 1 "
    "--global-batch-size 64 --bf16 ";

TEST_F(ImportTest, FindsTheModelAndPredictsAsPredictDoes) {
  const ImportAnswer answer = import_script(
      kLlama8b +
      "--tensor-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer "
      "--overlap-grad-reduce --overlap-param-gather");
  EXPECT_EQ(answer.plan.model.name, "llama3-8b");
  PredictRequest same;
  same.model.model = "llama3-8b";
  same.cluster.cluster = "2xdgx-h100";
  same.degrees.tp = 2;
  same.degrees.zero = 1;
  same.degrees.global_batch = 64;
  EXPECT_DOUBLE_EQ(answer.prediction.prediction.step, predict(same).prediction.step);
}

TEST_F(ImportTest, ChangesAreFasterFitAndSayHow) {
  const ImportAnswer answer =
      import_script(kLlama8b +
                    "--tensor-model-parallel-size 8 --recompute-granularity full "
                    "--recompute-method uniform --recompute-num-layers 1");
  ASSERT_TRUE(answer.prediction.prediction.fits);
  ASSERT_FALSE(answer.changes.empty());
  const plan::DegreeLimits limits = plan::degree_limits(answer.plan.model, answer.plan.cluster);
  cost::Predictor predictor(answer.plan.model, answer.plan.cluster, answer.prediction.plan.basis);
  double last = 0;
  for (const Change& change : answer.changes) {
    EXPECT_GT(change.gain, 0) << change.what;
    EXPECT_GE(change.step, last) << change.what;
    last = change.step;
    EXPECT_EQ(plan::violated_rules(change.degrees, limits), 0U) << change.what;
    const cost::Prediction p = predictor.predict(change.degrees);
    EXPECT_TRUE(p.fits) << change.what;
    EXPECT_DOUBLE_EQ(p.step, change.step) << change.what;
    EXPECT_EQ(change.degrees.global_batch, 64) << change.what;
    EXPECT_EQ(change.degrees.precision, cluster::Precision::kBf16) << change.what;
    EXPECT_FALSE(change.lines.empty()) << change.what;
  }
  EXPECT_THAT(answer.changes,
              ::testing::Contains(::testing::Field(&Change::what, "recompute none")));
}

TEST_F(ImportTest, OwnStagesArePlansWithoutDegrees) {
  const ImportAnswer answer = import_script(kLlama8b +
                                            "--pipeline-model-parallel-size 4 "
                                            "--pipeline-model-parallel-layout 'Et*6|t*9|t*9|t*8L'");
  EXPECT_FALSE(answer.plan.degrees.has_value());
  ASSERT_EQ(answer.plan.placement.runs.size(), 4U);
  EXPECT_EQ(answer.plan.placement.runs[1].first_layer, 7);
  EXPECT_GT(answer.prediction.prediction.step, 0);
}

TEST_F(ImportTest, ExportWritesAFolderWholeAndImportReadsIt) {
  ImportAnswer first = import_script(kLlama8b +
                                     "--use-megatron-fsdp "
                                     "--data-parallel-sharding-strategy optim_grads_params "
                                     "--overlap-grad-reduce --overlap-param-gather");
  plan::save_plan(path("p.plan"), first.plan);
  for (const exporting::Engine engine :
       {exporting::Engine::kMegatron, exporting::Engine::kDeepspeed, exporting::Engine::kTorchtitan,
        exporting::Engine::kFsdp}) {
    const std::string name(to_string(engine));
    export_plan({path("p.plan"), engine, path(name)});
    ImportRequest request;
    request.path = path(name);
    EXPECT_EQ(import_plan(request).plan, first.plan) << name;
  }
  // No temporary folder is left: run.sh, p.plan and four folders.
  EXPECT_EQ(folder_.num_entries(), 6);
}

}  // namespace
}  // namespace nereus::app::import_plan_test
