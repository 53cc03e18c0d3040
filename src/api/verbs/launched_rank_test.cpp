#include "api/verbs/launched_rank.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/base_testing.hpp"

namespace nereus::api::launched_rank_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::ElementsAre;
using Variables = std::map<std::string, std::string>;

std::optional<app::LaunchedRank> of(const Variables& variables) {
  return launched_rank_of([&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  });
}

TEST(LaunchedRank, NobodysWithoutALauncher) {
  EXPECT_EQ(of({}), std::nullopt);
  EXPECT_EQ(of({{"MASTER_ADDR", "host"}, {"LOCAL_RANK", "0"}}), std::nullopt);
  // A batch script of Slurm outside srun.
  EXPECT_EQ(of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), std::nullopt);
  EXPECT_EQ(of({{"OMPI_COMM_WORLD_SIZE", "1"},
                {"OMPI_COMM_WORLD_RANK", "0"},
                {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}),
            std::nullopt);
}

TEST(LaunchedRank, Torchrun) {
  Variables v{{"RANK", "9"},
              {"WORLD_SIZE", "16"},
              {"LOCAL_RANK", "1"},
              {"MASTER_ADDR", "node0"},
              {"MASTER_PORT", "29400"},
              {"TORCHELASTIC_RUN_ID", "x"}};
  EXPECT_EQ(of(v), (app::LaunchedRank{9, 16, 1, "node0", 29400, "torchrun"}));
  // Its agent has the port itself.
  v["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(of(v)->master_port, 29401);
}

TEST(LaunchedRank, MpirunOnOneHostNeedsNoMaster) {
  Variables v{{"OMPI_COMM_WORLD_RANK", "2"},
              {"OMPI_COMM_WORLD_SIZE", "4"},
              {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
              {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
              {"PMIX_NAMESPACE", "prte-host-123@1"}};
  const auto here = of(v);
  ASSERT_TRUE(here);
  EXPECT_EQ(here->master_address, "127.0.0.1");
  EXPECT_GT(here->master_port, 1023);
  v["OMPI_COMM_WORLD_RANK"] = "3";
  EXPECT_EQ(of(v)->master_port, here->master_port);  // the same on every rank
  v["PMIX_NAMESPACE"] = "prte-host-124@1";
  EXPECT_NE(of(v)->master_port, here->master_port);
  v["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_THAT(codes_of([&] { of(v); }), ElementsAre("train.environment", "train.environment"));
  v["MASTER_ADDR"] = "10.0.0.1";
  v["MASTER_PORT"] = "12345";
  EXPECT_EQ(of(v), (app::LaunchedRank{3, 4, 2, "10.0.0.1", 12345, "mpirun"}));
}

TEST(LaunchedRank, Srun) {
  const Variables v{{"SLURM_PROCID", "1"},       {"SLURM_STEP_NUM_TASKS", "2"},
                    {"SLURM_LOCALID", "0"},      {"SLURM_STEP_NUM_NODES", "2"},
                    {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "12345"}};
  EXPECT_EQ(of(v), (app::LaunchedRank{1, 2, 0, "10.0.0.1", 12345, "srun"}));
}

TEST(LaunchedRank, HalfOfItIsAnError) {
  EXPECT_THAT(codes_of([] {
                of({{"RANK", "0"}});
              }),
              ElementsAre("train.environment", "train.environment", "train.environment"));
  EXPECT_THAT(codes_of([] {
                of({{"RANK", "x"}, {"WORLD_SIZE", "1"}});
              }),
              ElementsAre("train.environment"));
  EXPECT_THAT(
      codes_of([] {
        of({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}});
      }),
      ElementsAre("train.environment"));
}

}  // namespace
}  // namespace nereus::api::launched_rank_test
