// Checks that the ranks of a job were started with the same options. Under a launcher each rank's
// program reads its options separately, and nothing else would detect a difference: another seed
// trains another model.
//
// A card has everything that must be equal, one "NAME VALUE" per line: the build, the model and the
// placement (with a digest of their JSON), all training settings, and those data, checkpoint and
// machine settings that affect results or synchronization. Paths, threads, time-outs and hosts may
// differ.
//
//   options.card = job::job_card(job);
//   job::check_alike(cards);          // of all ranks; throws Errors, "train.ranks-differ"
#pragma once

#include <string>
#include <vector>

#include "job/job.hpp"

namespace nereus::job {

inline constexpr std::size_t kLongestCard = 3840;  // characters; longer values are truncated

std::string job_card(const Job& job);

// Compares every rank's card with rank 0's; all ranks report the same error.
void check_alike(const std::vector<std::string>& cards);

}  // namespace nereus::job
