// Whether the ranks of a job were started alike. Under a launcher each rank's program reads its own
// options, and nothing else would notice that they differ: another seed trains another model.
//
// A card holds what must be the same, a line each, "NAME VALUE": the build, the model and the
// placement (with a digest of their JSON), all of training, and of data, checkpoints and machine
// what changes results or who waits for whom. Paths, threads and time-outs may differ from host to
// host, and so may the hosts.
//
//   options.card = job::job_card(job);
//   job::check_alike(cards);          // of all ranks; throws Errors, "train.ranks-differ"
#pragma once

#include <string>
#include <vector>

#include "job/job.hpp"

namespace nereus::job {

inline constexpr std::size_t kLongestCard = 3840;  // characters; longer values are cut before

std::string job_card(const Job& job);

// Every rank's card against rank 0's; all ranks say the same.
void check_alike(const std::vector<std::string>& cards);

}  // namespace nereus::job
