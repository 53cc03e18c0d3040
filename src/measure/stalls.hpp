// What a step waits for, by cause: differences of blocks of steps that differ in one thing
// (job/measuring.hpp), round by round.
//
//   contention     together - alone         of the median rank
//   straggler      the slowest rank of each step, together - the median rank
//   interconnect   talking within hosts - the slowest of each step
//   network        talking between hosts - within them
//   host copy      samples from the host's memory - from the device's        (GPUs)
//   prepare        samples read from the page cache and prepared - at hand
//   fetch          from storage - from the page cache
//   launch         operations of a step x seconds of one that has nothing to do; a part of `alone`,
//                  not beside it
//
// Stash (Sharma 2023) subtracts single runs of an epoch each, in which contention and stragglers
// count as interconnect, and makes negative differences zero. Here each difference is taken within
// a round, so that what changes slowly on a machine drops out; the mean over rounds has an interval
// of Student's t, of all stalls together at 95 % (Bonferroni); a negative mean stays negative. A
// stall is significant where its interval lies above kNegligible of the step.
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
  double seconds = 0;  // a step, or an operation
  double slowest = 0;  // together: mean over the block's steps of the slowest rank's
  double bytes = 0;    // from storage, a step
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
  bool measured = false;  // else `note` says why not, and all numbers are zero
  double seconds = 0;     // a step; may be negative
  double share = 0;       // of the step
  double low = 0, high = 0;
  bool significant = false;
  int rank = -1;  // straggler: the slowest by the mean
  std::string note{};
};

struct StallReport {
  double step_s = 0;            // as in training on data that are not in memory
  double alone_s = 0;           // what one device takes: the step without any stall but launch
  double at_hand_s = 0;         // the step where samples need not be read
  double warm_s = 0;            // and where they are read from the page cache
  std::int64_t operations = 0;  // of a step, as libtorch counts them; 0: not counted
  int rounds = 0;               // that were whole
  int num_ranks = 0;
  int num_hosts = 0;
  double bytes_from_storage = 0;  // a step, all ranks, cold
  std::vector<Stall> stalls{};    // one of each kind, in the order above
  std::vector<std::string> notes{};

  const Stall& of(StallKind kind) const { return stalls.at(static_cast<std::size_t>(kind)); }
};

// What each stall was in each round, in seconds; nothing where it was not measured.
using Causes = std::map<StallKind, std::vector<double>>;

// One stall of each kind, with its interval and share of report.step_s; `why_not` says what keeps
// one from being measured.
void set_stalls(StallReport& report, const Causes& causes,
                const std::function<std::string(StallKind)>& why_not);

// Rounds that are not whole are left out. Throws Errors where fewer than two are: measure.rounds.
StallReport find_stalls(const std::vector<BlockTime>& times);

}  // namespace nereus::measure
