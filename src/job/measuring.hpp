// How a job is measured instead of trained: blocks of steps are run, round after round. A block
// differs from the one before it in this list in one thing, so that the difference of their times
// is the cost of that thing.
//
//   alone      one rank per host at a time; samples already prepared; no communication
//   together   all ranks at the same time, without communication
//   host       communication between the ranks of one host
//   all        communication between all ranks
//   copied     as `all`, and samples come from the host's memory, as in training (GPUs)
//   warm       as the block before, and samples are read and prepared, from files in the page cache
//   cold       as `warm`, but the samples' files are not in the page cache
//   launch     seconds of an operation without work; `count` is the number of operations of a step
#pragma once

#include <cstdint>
#include <string_view>

namespace nereus::job {

enum class Block { kAlone, kTogether, kHost, kAll, kCopied, kWarm, kCold, kLaunch };
inline constexpr Block kBlocks[] = {Block::kAlone,  Block::kTogether, Block::kHost, Block::kAll,
                                    Block::kCopied, Block::kWarm,     Block::kCold, Block::kLaunch};
std::string_view to_string(Block block);  // "together"

struct Measuring {
  double seconds = 0;  // time to spend; 0 = the job is trained. A round that has begun is finished
  int rounds = 6;      // at least
  int most_rounds = 60;
  bool operator==(const Measuring&) const = default;
};

}  // namespace nereus::job
