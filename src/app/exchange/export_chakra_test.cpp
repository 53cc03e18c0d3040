#include "app/exchange/export_chakra.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "base/write_file.hpp"
#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "plan/expand.hpp"
#include "plan/plan_json.hpp"

namespace nereus::app::export_chakra_test {
namespace {

namespace fs = std::filesystem;

class ExportChakra : public ::testing::Test {
 protected:
  ExportChakra() {
    plan::Plan plan;
    plan.model = model::load_model("gpt2");
    plan.cluster = cluster::load_cluster("2xdgx-h100");
    plan.stack = "megatron";
    plan::Degrees d;
    d.tp = d.pp = 2;
    d.dp = 4;
    d.global_batch = 16;
    plan.degrees = plan::canonical(d, plan.model);
    plan.placement = plan::expand(d, plan.model);
    write_file(plan_file(), plan::plan_to_json(plan));
  }

  std::string plan_file() const { return folder_ / "a.plan"; }
  std::string directory() const { return folder_ / "et"; }
  std::string code_of(const ChakraRequest& request) const {
    try {
      export_chakra(request);
    } catch (const Errors& errors) {
      return errors.list()[0].code;
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(ExportChakra, WritesAFileARankOfTheSizeItSaid) {
  std::int64_t said = 0;
  const ChakraAnswer answer =
      export_chakra({.plan_file = plan_file(), .directory = directory()},
                    [&](const ChakraAnswer& sized) { said = sized.num_bytes; });
  EXPECT_EQ(answer.ranks.size(), 16u);
  std::int64_t bytes = 0;
  for (int rank = 0; rank < 16; ++rank)
    bytes += static_cast<std::int64_t>(
        fs::file_size(fs::path(directory()) / ("gpt2." + std::to_string(rank) + ".et")));
  EXPECT_EQ(answer.num_bytes, bytes);
  EXPECT_NEAR(static_cast<double>(said) / static_cast<double>(bytes), 1, 0.01);
  EXPECT_TRUE(fs::exists(fs::path(directory()) / "comm_groups.json"));
}

TEST_F(ExportChakra, TooMuchIsRefusedUntilAskedFor) {
  ChakraRequest request{.plan_file = plan_file(), .directory = directory()};
  const std::int64_t all = export_chakra(request).num_bytes;
  fs::remove_all(directory());
  request.most = all / 2;
  EXPECT_EQ(code_of(request), "chakra.large");
  EXPECT_FALSE(fs::exists(directory()));
  request.ranks = {0, 3};
  EXPECT_EQ(code_of(request), "");
  request.ranks = {};
  request.yes = true;
  EXPECT_EQ(code_of(request), "");
}

TEST_F(ExportChakra, RanksMustExist) {
  EXPECT_EQ(code_of({.plan_file = plan_file(), .directory = directory(), .ranks = {16}}),
            "chakra.rank");
}

}  // namespace
}  // namespace nereus::app::export_chakra_test
