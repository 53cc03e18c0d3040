// Reads the output of the shim in a user's PyTorch job (python/shim): a JSON line about the job,
// and a JSON line per block and rank.
//
//   ShimBlocks read = read_shim_blocks(text, "blocks-123.jsonl");
//   StallReport report = find_stalls(read.times);
//   explain_missing(report, read.job);             // why a stall of this job could not be measured
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/stalls.hpp"

namespace nereus::measure {

struct ShimJob {
  std::string torch;    // its version
  std::string backend;  // of torch.distributed; empty: one rank
  double parameters = 0;
  double samples = 0;  // per step, over all ranks; 0: unknown
  int num_ranks = 1;
  bool on_gpu = false;
  int loaders = 0;                          // number of DataLoaders that feed steps
  bool counted = false;                     // whether operations per step were counted
  std::vector<std::string> unswitchable{};  // collectives that cannot be left out of a step
};

struct ShimBlocks {
  ShimJob job;
  std::vector<BlockTime> times;
};

// An incomplete last line (after a kill) is ignored. Throws Errors: measure.blocks, and those of
// the JSON.
ShimBlocks read_shim_blocks(std::string_view text, const std::string& file);

void explain_missing(StallReport& report, const ShimJob& job);

}  // namespace nereus::measure
