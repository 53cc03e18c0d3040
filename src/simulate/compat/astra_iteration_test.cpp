#include "simulate/compat/astra_iteration.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "simulate/compat/astra_table.hpp"
#include "tests/source_dir.hpp"

namespace nereus::simulate::astra_iteration_test {
namespace {

const std::string kTable = source_dir() + "/data/collectives/astrasim_training.csv";

TEST(AstraIteration, EqualsItsRunsToTheNanosecond) {
  const spec::Csv csv = spec::read_csv(kTable);
  const std::vector<AstraIterationRow> rows = read_astra_iterations(csv);
  ASSERT_EQ(rows.size(), 5u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const AstraIterationRow& row = rows[i];
    const AstraIteration answer = astra_iteration(row.system, row.decoder, row.tensor, row.data);
    EXPECT_EQ(answer.ns, row.simulated_ns) << "line " << row.line;
    EXPECT_EQ(std::to_string(answer.nodes), csv.cell(csv.rows[i], csv.find("nodes_per_npu_trace")));
    const std::string& exposed = csv.cell(csv.rows[i], csv.find("exposed_comm_ns"));
    if (exposed.empty()) continue;  // the longest run was timed only
    EXPECT_EQ(std::to_string(answer.ns - answer.compute_ns), exposed);
  }
}

// 128 layers on 1,024 devices, for which ASTRA-sim takes 256 s.
TEST(AstraIteration, TakesMilliseconds) {
  const AstraIterationRow row = read_astra_iterations(spec::read_csv(kTable)).back();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(astra_iteration(row.system, row.decoder, row.tensor, row.data).ns, 22'570'062'798);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(50));
}

TEST(AstraIteration, DegreesOfOneSendNothing) {
  AstraIterationRow row = read_astra_iterations(spec::read_csv(kTable)).front();
  row.decoder.tp = row.decoder.dp = 1;
  const AstraIteration alone = astra_iteration(row.system, row.decoder, {}, {});
  EXPECT_EQ(alone.ns, alone.compute_ns);
  EXPECT_EQ(alone.nodes, 4 * 14);
}

TEST(AstraIteration, HalvingDoublingOnSixIsRefused) {
  AstraIterationRow row = read_astra_iterations(spec::read_csv(kTable)).front();
  row.decoder.dp = row.data.num_ranks = 6;
  EXPECT_NE(astra_iteration(row.system, row.decoder, row.tensor, row.data).why_not, "");
}

}  // namespace
}  // namespace nereus::simulate::astra_iteration_test
