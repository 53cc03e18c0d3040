// Numbered pieces of work, computed by many threads and accepted in the order of their numbers.
//
//   Work work{.first = 0, .count = 1000,
//             .compute = [&](std::int64_t piece) { return table_of(piece); },
//             .accept = [&](std::int64_t piece, std::string&& table) { file << table; },
//             .stop = [] { return interrupted(); }};
//   const Outcome outcome = run(work, {.threads = 8});
//
// Invariants, at any number of threads and of ranks (ranks.hpp):
//   accept is called for first, first + 1, ... without gaps, each once, on the calling thread;
//   at most `window` pieces are being computed or wait for their turn, besides the one in accept;
//   what compute throws is thrown by run when the piece's turn comes, after all before it were
//   accepted, so it is always the first failure in order; what accept throws is thrown at once.
// compute is one core's work: parallel_for inside it would ask for all cores once more per thread.
// Before run returns or throws, all its threads have ended: it lasts as long as the pieces that
// were being computed, which nothing can interrupt.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nereus::spread {

struct Work {
  std::int64_t first = 0;  // pieces first .. first + count - 1
  std::int64_t count = 0;
  std::function<std::string(std::int64_t)> compute;         // pure; any thread of any rank
  std::function<void(std::int64_t, std::string&&)> accept;  // rank 0 only, one thread, in order
  std::function<bool()> stop =
      {};                 // rank 0 only; asked between pieces and every 50 ms; may be none
  std::string name = {};  // what is computed, e.g. a hash of the inputs; the same on every rank
};

struct Options {
  int threads = 0;  // of this process; 0 = its share of the machine's cores
  int window = 0;   // pieces ahead of accept; 0 = 64, and 8 for each thread of each rank
};

enum class Ending {
  kComplete,
  kStopped,  // `stop` said so; the pieces accepted are first .. first + accepted - 1
  kFailed,   // seen on ranks other than 0 alone: rank 0 throws
};

struct Outcome {
  Ending ending = Ending::kComplete;
  std::int64_t accepted = 0;
  std::int64_t redone = 0;                   // pieces handed out again: of lost ranks, overdue
  std::vector<std::string> lost_ranks = {};  // "rank 3 on node17"; those that came back are not
  bool operator==(const Outcome&) const = default;
};

// On this machine alone.
Outcome run(const Work& work, const Options& options);

// Cores that this process may run on.
int num_usable_cores();

}  // namespace nereus::spread
