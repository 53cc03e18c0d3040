// Rows of a table of runs for tests: one valid row with changed cells.
//
//   run_of({{"tp", "4"}, {"dp", ""}}).degrees.dp     // a blank cell is derived from the others
//   skipped_for({{"gpu", "Abacus"}})                 // "unknown device Abacus"
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "calibrate/runs.hpp"
#include "spec/csv.hpp"
#include "stack/stack_file.hpp"

namespace nereus::calibrate::testing {

inline cost::StackLibrary test_library() {
  cost::StackLibrary library;
  cost::overlay_stacks(library, R"(
[stack.generic]
[stack.generic.defaults]
vocab = 1000
[stack.tuned]
inherits = "generic"
attention = "unfused"
[stack.tuned.defaults]
vocab = 2000
interleave = 2
zero = 1
recompute = "full"
sequence_parallel = false
tied_embeddings = false
bias = false
[stack.tuned.variants]
compile = "tuned-compile"
[stack.tuned-compile]
inherits = "tuned"
[stack.dated]
inherits = "generic"
[stack.dated.releases]
"20" = "dated-old"
"25.01" = "dated"
"26.06" = "dated-new"
[stack.dated-old]
inherits = "dated"
[stack.dated-old.defaults]
expert_tensor = true
[stack.dated-new]
inherits = "dated"
[stack.dated-new.defaults]
tensor_overlap = true
[stack.dated-new.variants]
"cuda_graphs=no" = "dated"
[site.lab]
sets = ["ours"]
network = "33 GB/s"
)",
                       "test.toml");
  return library;
}

using Cells = std::map<std::string, std::string>;

// Eight samples on each of four replicas of 2 x 2 A100s.
inline Cells base_row() {
  return {{"model", "m"},   {"layers", "4"},       {"hidden", "1024"},       {"heads", "16"},
          {"seq", "2048"},  {"gpu", "A100-80GB"},  {"gpus", "16"},           {"tp", "2"},
          {"pp", "2"},      {"dp", "4"},           {"micro_batch", "2"},     {"global_batch", "32"},
          {"value", "1.5"}, {"precision", "bf16"}, {"metric", "iteration_s"}};
}

inline std::string csv_of(const std::vector<Cells>& rows) {
  std::set<std::string> columns;
  for (const Cells& row : rows)
    for (const auto& [column, cell] : row) columns.insert(column);
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ",") + column;
  for (const Cells& row : rows) {
    std::string line;
    for (const std::string& column : columns) {
      const auto at = row.find(column);
      line += (line.empty() ? "\n" : ",") + (at == row.end() ? "" : at->second);
    }
    text += line;
  }
  return text + "\n";
}

inline RunTable parse(const std::vector<Cells>& rows) {
  return parse_runs(spec::parse_csv(csv_of(rows), "test.csv"), "test", test_library());
}

// The base row with these cells changed; an empty value is a blank cell.
inline Cells with(const Cells& changes) {
  Cells row = base_row();
  for (const auto& [column, cell] : changes) row[column] = cell;
  return row;
}

inline Run run_of(const Cells& changes) {
  RunTable table = parse({with(changes)});
  if (table.runs.size() != 1) {
    for (const auto& [why, count] : table.skipped) ADD_FAILURE() << "skipped: " << why;
    return {};
  }
  return table.runs[0];
}

inline std::string skipped_for(const Cells& changes) {
  const RunTable table = parse({with(changes)});
  EXPECT_EQ(table.rows, 1);
  if (table.skipped.size() != 1 || !table.runs.empty()) return "used";
  EXPECT_EQ(table.skipped.begin()->second, 1);
  return table.skipped.begin()->first;
}

}  // namespace nereus::calibrate::testing
