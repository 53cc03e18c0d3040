// The published runs (data/published) are all read.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "calibrate/runs.hpp"
#include "spec/csv.hpp"
#include "stack/stack_file.hpp"
#include "tests/source_dir.hpp"

namespace nereus::calibrate::published_runs_test {
namespace {

std::string published(const char* file) { return source_dir() + "/data/published/" + file; }

// Lines of the dense pre-training rows that state all a prediction needs.
std::set<int> stated_lines(const spec::Csv& csv) {
  std::set<int> lines;
  for (const spec::CsvRow& row : csv.rows) {
    const auto cell = [&](const char* column) { return csv.cell(row, csv.find(column)); };
    bool all = true;
    for (const char* column : {"layers", "hidden", "heads", "seq", "gpu", "gpus", "tp", "pp", "dp",
                               "micro_batch", "global_batch", "precision"})
      all = all && !cell(column).empty();
    if (all && cell("experts").empty() && cell("task") == "pretrain") lines.insert(row.line);
  }
  return lines;
}

void expect_all_used(const char* file, const RunTable& table) {
  const std::set<int> stated = stated_lines(spec::read_csv(published(file)));
  std::set<int> dense;
  for (const auto& run : table.runs)
    if (run.model->transformer->experts == 0) dense.insert(run.line);
  EXPECT_EQ(dense, stated) << "lines of " << file;
}

TEST(PublishedRuns, AllDensePretrainingRowsThatStateEnoughAreUsed) {
  const RunTable table = read_runs(published("runs.csv"), cost::builtin_stacks());
  EXPECT_EQ(table.rows, 2385);
  expect_all_used("runs.csv", table);
  std::size_t skipped = 0;
  for (const auto& [why, count] : table.skipped) skipped += static_cast<std::size_t>(count);
  EXPECT_EQ(table.runs.size() + skipped, 2385u);
}

TEST(PublishedRuns, KeepTheirSetsSitesAndSuspects) {
  const RunTable table = read_runs(published("runs.csv"), cost::builtin_stacks());
  std::map<std::string, int> sets;
  int suspects = 0;
  for (const auto& run : table.runs) {
    ++sets[run.set];
    suspects += run.suspect.empty() ? 0 : 1;
    EXPECT_GT(run.step, 0) << run.line;
    EXPECT_FALSE(run.failed);
    EXPECT_LE(run.degrees.num_ranks(), run.cluster.num_devices()) << run.line;
    if (run.set == "vtrain") {
      EXPECT_EQ(run.site, "vtrain");
    }
    if (run.set == "bigscience") {
      EXPECT_EQ(run.site, "jean-zay");
    }
  }
  EXPECT_EQ(sets["vtrain"], 815);
  EXPECT_EQ(sets["ultrascale_playbook"], 889);
  EXPECT_EQ(sets["llmfoundry"], 152);
  EXPECT_EQ(sets["bigscience"], 44);
  EXPECT_GT(suspects, 100);
}

TEST(PublishedRuns, AllFailedRunsAreRead) {
  const RunTable table = read_runs(published("failed.csv"), cost::builtin_stacks());
  EXPECT_EQ(table.rows, 773);
  expect_all_used("failed.csv", table);
  for (const auto& run : table.runs) EXPECT_TRUE(run.failed) << run.line;
}

}  // namespace
}  // namespace nereus::calibrate::published_runs_test
