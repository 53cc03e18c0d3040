// Runs one rank from its job file to its last step: the main function of nereus-worker.
#pragma once

#include <string>

#include "job/message.hpp"

namespace nereus::worker {

struct RankOptions {
  std::string job_file;
  int rank = 0;
  int num_ranks = 1;
  int local_rank = 0;
  int report_fd = -1;
  std::string address = "127.0.0.1";
  int port = 0;
};

// Returns the exit code: 0, 2 (input), 4 (environment), 5 (this rank failed), 10 (asked to end), 75
// (saved and ended).
int run_rank(const RankOptions& options);

job::WorkerInfo worker_info();

}  // namespace nereus::worker
