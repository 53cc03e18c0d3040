// Checks that a plan can give BatchNorm the groups that the job requires. A layer normalizes over
//
//   group, n    n consecutive samples of the step, on any ranks: the result is the same under every
//               plan whose micro-batches hold whole groups
//   group, 0    each micro-batch: torch's default, which depends on the plan
//   sync        all samples that the data-parallel ranks of a stage compute at the same micro-batch
//               number
//
// Codes: train.norm-group (micro-batches that cut groups), train.norm-sync (ranks that cannot
// synchronize), train.norm-one-value (a channel of a group has one value, and so no variance).
//
//   for (const Error& error : check_norm(job.plan, job.training)) errors.add(error);
#pragma once

#include <vector>

#include "base/error.hpp"
#include "job/job.hpp"

namespace nereus::job {

// Empty if the model has no BatchNorm.
std::vector<Error> check_norm(const plan::Plan& plan, const Training& training);

}  // namespace nereus::job
