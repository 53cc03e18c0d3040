#include "api/verbs/open_ranks.hpp"

#include <gtest/gtest.h>

#include <map>

namespace nereus::api::open_ranks_test {
namespace {

using spread::Launch;

Launch launch(std::map<std::string, std::string> variables) {
  return launch_of([&](const char* name) { return variables[name]; });
}

TEST(Launch, KnowsWhoStartedIt) {
  EXPECT_EQ(launch({}), Launch{});
  EXPECT_EQ(launch({{"OMPI_COMM_WORLD_SIZE", "1"}}), Launch{});
  EXPECT_EQ(launch({{"OMPI_COMM_WORLD_SIZE", "4"}}), (Launch{Launch::Kind::kOpenMpi, 4, "mpirun"}));
  EXPECT_EQ(launch({{"SLURM_STEP_NUM_TASKS", "8"}, {"PMIX_RANK", "0"}}),
            (Launch{Launch::Kind::kOpenMpi, 8, "srun"}));
  EXPECT_EQ(launch({{"SLURM_STEP_NUM_TASKS", "1"}}), Launch{});
  EXPECT_EQ(launch({{"SLURM_NTASKS", "8"}}), Launch{}) << "a batch script: nothing is started yet";
}

TEST(Launch, KnowsRanksItCannotJoin) {
  EXPECT_EQ(launch({{"SLURM_STEP_NUM_TASKS", "8"}}).kind, Launch::Kind::kOther);
  EXPECT_EQ(launch({{"PMI_SIZE", "2"}}).kind, Launch::Kind::kOther);
  EXPECT_EQ(launch({{"SLURM_STEP_NUM_TASKS", "8"}, {"PMI_SIZE", "8"}}).by, "srun without PMIx");
}

// mpirun of two ranks inside a step of one task, and the other way round.
TEST(Launch, TheInnermostLauncherCounts) {
  EXPECT_EQ(launch({{"OMPI_COMM_WORLD_SIZE", "2"}, {"SLURM_STEP_NUM_TASKS", "1"}}).size, 2);
  EXPECT_EQ(launch({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}), Launch{});
}

}  // namespace
}  // namespace nereus::api::open_ranks_test
