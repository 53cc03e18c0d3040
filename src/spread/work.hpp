// Numbered pieces of work, computed by many threads and accepted in the order of their numbers.
//
//   Work work{.first = 0, .count = 1000,
//             .compute = [&](std::int64_t piece) { return table_of(piece); },
//             .accept = [&](std::int64_t piece, std::string&& table) { file << table; },
//             .stop = [] { return interrupted(); }};
//   const Outcome outcome = run(work, {.threads = 8});
//
// Invariants, for any number of threads and ranks (ranks.hpp):
//   - accept is called for first, first + 1, ... without gaps, once each, on the calling thread
//   - at most `window` pieces are being computed or wait for their turn, besides the one in accept
//   - run throws what compute throws when the piece's turn comes, after all earlier pieces were
//     accepted, so it is always the first failure in order; what accept throws is thrown at once
// compute should use one core: parallel_for inside it would use all cores once more per thread.
// When run returns or throws, all its threads have ended. So it takes at least as long as the
// current pieces, which cannot be interrupted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nereus::spread {

struct Work {
  std::int64_t first = 0;  // pieces first .. first + count - 1
  std::int64_t count = 0;
  std::function<std::string(std::int64_t)> compute;         // must be pure; any thread of any rank
  std::function<void(std::int64_t, std::string&&)> accept;  // rank 0 only, one thread, in order
  std::function<bool()> stop =
      {};                 // only on rank 0; polled between pieces and every 50 ms; may be empty
  std::string name = {};  // what is computed, e.g. a hash of the inputs; equal on every rank
};

struct Options {
  int threads = 0;  // of this process; 0 = its share of the machine's cores
  int window = 0;   // pieces ahead of accept; 0 = 64, plus 8 per thread of each rank
};

enum class Ending {
  kComplete,
  kStopped,  // `stop` returned true; the accepted pieces are first .. first + accepted - 1
  kFailed,   // only seen on ranks other than 0: rank 0 throws
};

struct Outcome {
  Ending ending = Ending::kComplete;
  std::int64_t accepted = 0;
  std::int64_t redone = 0;                   // pieces handed out again: of lost ranks, or overdue
  std::vector<std::string> lost_ranks = {};  // "rank 3 on node17"; without those that came back
  bool operator==(const Outcome&) const = default;
};

// On this machine only.
Outcome run(const Work& work, const Options& options);

// Number of cores that this process may use.
int num_usable_cores();

}  // namespace nereus::spread
