// Tables of runs for the tests of this folder, read from CSV like those of users.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "calibrate/runs.hpp"
#include "spec/csv.hpp"
#include "stack/stack_file.hpp"

namespace nereus::calibrate::testing {

// One row; every run here is a dense GPT on `gpus` devices, with dp derived from them.
struct Row {
  std::string model = "m";
  int layers = 8;
  int hidden = 2048;
  int heads = 16;
  int seq = 2048;
  std::string gpu = "A100-80GB";
  int gpus = 8;
  int tp = 1;
  int pp = 1;
  int micro_batch = 1;
  int global_batch = 32;
  std::string set = "lab";
  std::string suspect = "";
  std::string metric = "iteration_s";
};

inline RunTable make_runs(const std::vector<Row>& rows, const cost::StackLibrary& library,
                          const std::string& stack) {
  std::string csv =
      "set,model,layers,hidden,heads,seq,gpu,gpus,tp,pp,dp,micro_batch,global_batch,precision,"
      "metric,value,suspect,stack\n";
  for (const Row& r : rows)
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},bf16,{},1,{},{}\n", r.set, r.model,
                       r.layers, r.hidden, r.heads, r.seq, r.gpu, r.gpus, r.tp, r.pp,
                       r.gpus / (r.tp * r.pp), r.micro_batch, r.global_batch, r.metric, r.suspect,
                       stack);
  return parse_runs(spec::parse_csv(csv, "test.csv"), "test", library);
}

inline cost::StackLibrary make_library(const std::string& text) {
  cost::StackLibrary library;
  cost::overlay_stacks(library, text, "test.toml");
  return library;
}

inline std::vector<const Run*> pointers(const RunTable& table) {
  std::vector<const Run*> runs;
  for (const Run& run : table.runs) runs.push_back(&run);
  return runs;
}

}  // namespace nereus::calibrate::testing
