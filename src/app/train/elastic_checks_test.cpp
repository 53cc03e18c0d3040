// A job's folder goes on with the job it was begun with, and with no other.
#include "app/train/elastic_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "launch/elastic/job_state.hpp"
#include "plan/degree_testing.hpp"
#include "plan/expand.hpp"
#include "plan/test_models.hpp"

namespace nereus::app::elastic_checks_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

job::Job begun_job() {
  job::Job job;
  job.build = "build";
  job.plan.model = plan::testing::make_dense(4);
  job.plan.cluster = plan::testing::make_cluster(1);
  job.plan.placement = plan::expand(plan::Degrees{}, job.plan.model);
  job.data.kind = job::Data::Kind::kTokens;
  job.data.path = "text.tokens";
  return job;
}

// Where the planner chooses for the machines that are there it reads few of a plan's degrees.
TEST(ElasticChecks, DegreesThatThePlannerDoesNotReadAreRefused) {
  plan::for_each_request([](const auto& field) {
    if (field.option == nullptr || field.name == "pp" || field.name == "dp") return;
    TrainRequest request;
    request.plan.degrees = plan::testing::request_of(field);
    const bool is_read =
        field.name == "global_batch" || field.name == "seq" || field.name == "precision";
    const auto codes = [&](const ElasticRequest& elastic) {
      return codes_of([&] { completed(request, elastic); });
    };
    EXPECT_THAT(codes({}), IsEmpty()) << field.name;  // shapes of this machine's ranks read all
    request.plan.cluster.cluster = "4xp3.2xlarge";
    EXPECT_EQ(codes({}).empty(), is_read) << field.name;
    ElasticRequest shapes;
    shapes.shapes = {{2, 1}};
    EXPECT_THAT(codes(shapes), IsEmpty()) << field.name;
  });
}

TEST(ElasticChecks, AFolderIsOfOneJob) {
  const TemporaryFolder folder;
  const auto codes = [&](const std::function<void(job::Job&)>& change) {
    job::Job job = begun_job();
    change(job);
    return codes_of([&] { check_same_job(folder.path(), job); });
  };
  EXPECT_THAT(codes([](job::Job&) {}), IsEmpty());  // nothing was begun
  launch::JobState state;
  state.generation = 1;
  state.listen = {"127.0.0.1", 1};
  state.job = job::job_to_json(begun_job());
  launch::save_state(folder.path(), state);

  EXPECT_THAT(codes([](job::Job& job) {
                job.training.steps = 9;  // more of the same, in other words
                job.data.path = "./text.tokens";
                job.data.workers = 3;
                job.machine.threads = 2;
              }),
              IsEmpty());
  const std::function<void(job::Job&)> others[] = {
      [](job::Job& job) { job.data = {}; },  // synthetic
      [](job::Job& job) { job.data.path = "other.tokens"; },
      [](job::Job& job) { job.data.shuffle = false; },
      [](job::Job& job) { job.training.seed = 3; },
      [](job::Job& job) { job.training.rate = 3; },
  };
  for (const auto& other : others) EXPECT_THAT(codes(other), ElementsAre("elastic.other-job"));
}

}  // namespace
}  // namespace nereus::app::elastic_checks_test
