// How a job is measured rather than trained: blocks of steps that differ in one thing each, round
// after round, so that the difference of two blocks is what that thing costs.
//
//   alone      one rank of a host at a time; samples at hand; nobody talks
//   together   all ranks at once, each for itself
//   host       ranks of one host talk
//   all        all ranks talk
//   copied     and samples come from the host's memory, as they do in training (GPUs)
//   warm       and samples are read and prepared, from files in the page cache
//   cold       and their files are not in the page cache
//   launch     seconds of one operation that has nothing to do; `count` of them in a step
#pragma once

#include <cstdint>
#include <string_view>

namespace nereus::job {

enum class Block { kAlone, kTogether, kHost, kAll, kCopied, kWarm, kCold, kLaunch };
inline constexpr Block kBlocks[] = {Block::kAlone,  Block::kTogether, Block::kHost, Block::kAll,
                                    Block::kCopied, Block::kWarm,     Block::kCold, Block::kLaunch};
std::string_view to_string(Block block);  // "together"

struct Measuring {
  double seconds = 0;  // to spend; 0 = the job is trained. A round that was begun is finished
  int rounds = 6;      // at least
  int most_rounds = 60;
  bool operator==(const Measuring&) const = default;
};

}  // namespace nereus::job
