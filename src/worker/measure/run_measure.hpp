// One rank of `nereus measure`: what nereus-worker --measure FILE does. Rank 0 measures what needs
// only one rank (kernels, memory, jitter, disk, preparation) while the others wait; all ranks
// measure links, collectives and layers. Rank 0 writes the profile (profile/profile.hpp).
#pragma once

#include "worker/run/run_job.hpp"

namespace nereus::worker {

// `place.job_file` is the request (job/measure.hpp). Returns the exit code: 0, 2 (input), 4
// (environment), 5 (failed).
int run_measure(const RankOptions& place);

}  // namespace nereus::worker
