// A job runs blocks of steps, each of which differs from another block in one thing
// (job/measuring.hpp), and each block once per round. The differences between blocks of a round are
// what a step waits for, by cause.
//
//   contention     `together` - `alone`, both of the median rank
//   straggler      in `together`: the slowest rank of each step - the median rank
//   interconnect   communication within hosts - the slowest rank of each step
//   network        communication between hosts - within hosts
//   host copy      samples from the host's memory - from the device's        (GPUs)
//   prepare        samples read from the page cache and prepared - already prepared
//   fetch          from storage - from the page cache
//   launch         operations per step x seconds of an operation without work; it is a part of
//                  `alone`, not an addition to it
//
// Stash (Sharma 2023) subtracts single runs of one epoch each, in which contention and stragglers
// count as interconnect, and sets negative differences to zero. Here each difference is taken
// within a round, so that slow changes of a machine cancel. The mean over rounds has a Student's t
// interval, chosen so that all intervals hold together with 95 % (Bonferroni); a negative mean
// stays negative. A stall is significant if its whole interval is above kNegligible of the step.
//
//   StallReport report = find_stalls(times);
//   report.step_s; report.stalls[3].seconds; report.stalls[3].significant;
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "job/measuring.hpp"

namespace nereus::measure {

inline constexpr double kNegligible = 0.01;
inline constexpr double kConfidence = 0.95;

// One block of one rank.
struct BlockTime {
  job::Block block = job::Block::kAlone;
  int round = 0;
  int rank = 0;
  int host = 0;
  double seconds = 0;  // per step, or per operation
  double slowest = 0;  // for `together`: mean over the block's steps of the slowest rank's time
  double bytes = 0;    // from storage, per step
  std::int64_t count = 0;
};

enum class StallKind {
  kLaunch,
  kContention,
  kStraggler,
  kInterconnect,
  kNetwork,
  kHostCopy,
  kPrepare,
  kFetch
};
inline constexpr int kNumStalls = 8;
std::string_view to_string(StallKind kind);  // "host_copy", as in JSON

struct Stall {
  StallKind kind = StallKind::kLaunch;
  bool measured = false;  // if not, `note` has the reason, and all numbers are zero
  double seconds = 0;     // per step; may be negative
  double share = 0;       // of the step
  double low = 0, high = 0;
  bool significant = false;
  int rank = -1;  // straggler: the slowest rank by the mean
  std::string note{};
};

struct StallReport {
  double step_s = 0;            // as in training on data that are not in memory
  double alone_s = 0;           // time on one device: the step without any stall except launch
  double at_hand_s = 0;         // the step if samples need not be read
  double warm_s = 0;            // the step if they are read from the page cache
  std::int64_t operations = 0;  // per step, counted by libtorch; 0: not counted
  int rounds = 0;               // number of complete ones
  int num_ranks = 0;
  int num_hosts = 0;
  double bytes_from_storage = 0;  // per step, over all ranks, with a cold cache
  std::vector<Stall> stalls{};    // one of each kind, in the order above
  std::vector<std::string> notes{};

  const Stall& of(StallKind kind) const { return stalls.at(static_cast<std::size_t>(kind)); }
};

// The seconds of each stall in each round; empty if it was not measured.
using Causes = std::map<StallKind, std::vector<double>>;

// Adds one stall of each kind, with its interval and its share of report.step_s. `why_not` returns
// the reason why one was not measured.
void set_stalls(StallReport& report, const Causes& causes,
                const std::function<std::string(StallKind)>& why_not);

// Ignores incomplete rounds. Throws Errors if fewer than two are complete: measure.rounds.
StallReport find_stalls(const std::vector<BlockTime>& times);

}  // namespace nereus::measure
