#include "simulate/compat/varuna_runs.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "tests/source_dir.hpp"

namespace nereus::simulate::varuna_runs_test {
namespace {

std::vector<VarunaRun> all_runs() {
  return read_varuna_runs(spec::read_csv(source_dir() + "/data/varuna/simulator_runs.csv"));
}

// 88 runs of the released simulator. Each is one draw of its jitter, so it lies some standard
// deviations from our mean; its passes and messages are the same or it would be far off.
TEST(VarunaRuns, AreWhatItsSimulatorSaid) {
  const std::vector<VarunaRun> runs = all_runs();
  ASSERT_EQ(runs.size(), 88u);
  double sum = 0;
  int within_two = 0;
  for (const VarunaRun& run : runs) {
    if (run.size.micro_batches > 256) continue;  // for time; `validate --pipelines` has them all
    const VarunaTime ours = play_varuna_run(run, {true, true}, 10);
    const double error = ours.mean / run.simulated - 1;
    EXPECT_LT(std::abs(error), 0.005) << "line " << run.line;
    sum += std::abs(error);
    within_two += std::abs(run.simulated - ours.mean) < 2 * ours.deviation ? 1 : 0;
  }
  EXPECT_LT(sum / 80, 0.0015);
  EXPECT_GT(within_two, 60);
}

// The cost of its rule: recompute that waits for the gradient lengthens the drain by a forward pass
// per stage before the last, minus what forward passes pulled ahead make up for.
TEST(VarunaRuns, ItsRuleLengthensTheDrain) {
  int longer = 0;
  for (const VarunaRun& run : all_runs()) {
    if (run.size.micro_batches > 256) continue;
    const double its = play_varuna_run(run, {true, false}, 1).mean;
    const double workers = play_varuna_run(run, {false, false}, 1).mean;
    if (run.gpipe) {
      EXPECT_EQ(its, workers);
    } else {
      EXPECT_GE(its, workers);
      EXPECT_LE(its - workers, run.size.depth * run.forward);
      EXPECT_TRUE(its > workers || run.size.depth < 4);
      longer += its > workers ? 1 : 0;
    }
  }
  EXPECT_GT(longer, 0);
}

TEST(VarunaRuns, ImpossibleRowsAreErrors) {
  const char* header =
      "mode,stages,microbatches,gpus_per_vm,fwd_us,bwd_us,send_us,long_send_us,minibatch_us\n";
  for (const char* row :
       {"pipedream,2,2,4,1,1,1,1,9", "varuna,0,2,4,1,1,1,1,9", "varuna,2,x,4,1,1,1,1,9",
        "varuna,2,2,4,-1,1,1,1,9", "varuna,2,2,0,1,1,1,1,9", "varuna,2,2,4,1,1,1,1,"})
    EXPECT_THROW(read_varuna_runs(spec::parse_csv(std::string(header) + row, "a.csv")), Errors)
        << row;
}

}  // namespace
}  // namespace nereus::simulate::varuna_runs_test
