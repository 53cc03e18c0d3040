// The messages of a worker while it runs: one JSON object per line on the pipe to its launcher.
//
//   {"kind": "step", "rank": 2, "step": 17, "loss": 3.2, "seconds": 0.41, ..}
//
// Fields that a kind does not use are left out. A line that is not a message is an error of the
// worker, and never skipped. A loss that is not a finite number is written as "nan" or "inf".
//
//   write(report_fd, to_line(message) + "\n");
//   Message message = parse_line(line);
//
// The exit codes of a worker are those of nereus: 0 done, 2 user error, 4 environment error, 5
// failed, 10 ended early on request (SIGINT), 75 ended after a saved checkpoint (SIGTERM). Before
// it ends with 2, 4 or 5, it sends a kError (or several, if several things are wrong with the
// input); otherwise it sends a kDone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "job/measuring.hpp"

namespace nereus::job {

enum class MessageKind {
  kHello,       // the worker is ready: build, library
  kAlive,       // every second, from a separate thread: number and name of the current operation
  kStep,        // a step is done
  kCheckpoint,  // a checkpoint is complete
  kBlock,       // a block of steps was measured (job/measuring.hpp); rank 0 reports for all
  kError,       // why the worker ends
  kDone,
};

// Seconds of one step in which a rank waited, by cause.
struct Waits {
  double data = 0;        // samples
  double tensor = 0;      // collectives of tensor and sequence parallelism
  double pipeline = 0;    // activations and gradients of other stages
  double gather = 0;      // all-gathers of sharded weights
  double reduce = 0;      // gradient reductions
  double checkpoint = 0;  // copies of state for a checkpoint
  bool operator==(const Waits&) const = default;
};

struct Message {
  MessageKind kind = MessageKind::kAlive;
  int rank = 0;
  // kHello
  int pid = 0;
  std::string build = {};
  std::string library = {};  // "libtorch 1.13.1, gloo"
  // kAlive
  std::int64_t operation = 0;
  std::string doing = {};
  // kStep; `step` counts from 0, and continues after a resume
  std::int64_t step = -1;
  double loss = 0;  // over the whole batch, equal on all ranks
  double gradient_norm = 0;
  double rate = 0;
  double seconds = 0;
  std::int64_t tokens = 0;  // or samples, of the whole job
  double memory_bytes = 0;  // maximum so far
  Waits waits{};
  // kBlock: `seconds` per step, or per operation
  Block block = Block::kAlone;
  int round = 0;
  int of_rank = 0;
  int host = 0;            // number of the host of rank of_rank
  double slowest = 0;      // for `together`: mean over the steps of the slowest rank's time
  double bytes = 0;        // from storage, per step
  std::int64_t count = 0;  // steps of the block, or operations per step
  // kCheckpoint
  std::string folder = {};
  // kError
  std::string code = {};
  std::string message = {};
  std::string hint = {};
  int missing_rank = -1;           // the rank it waited for
  bool input_error = false;        // user error: exit code 2
  bool environment_error = false;  // environment error, such as a full disk: exit code 4, else 5
  bool operator==(const Message&) const = default;
};

std::string_view to_string(MessageKind kind);  // "step"

std::string to_line(const Message& message);  // without the newline
Message parse_line(std::string_view line);    // throws Errors

// What `nereus-worker --version` prints, as one line of JSON.
struct WorkerInfo {
  std::string build = {};     // build_id()
  std::string library = {};   // "libtorch 1.13.1"
  std::string backends = {};  // for communication, the best first: "nccl shared", "gloo"
  int num_gpus = 0;           // CUDA devices that libtorch sees
  bool operator==(const WorkerInfo&) const = default;
};

std::string to_line(const WorkerInfo& info);
WorkerInfo parse_worker_info(std::string_view line);  // throws Errors

}  // namespace nereus::job
