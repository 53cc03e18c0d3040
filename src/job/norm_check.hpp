// Whether a plan can give BatchNorm the groups that the job asks for. A layer normalises over
//
//   group, n    n consecutive samples of the step, whoever computes them: the result is the same
//               under every plan whose micro-batches hold whole groups
//   group, 0    each micro-batch: torch's usual way, which depends on the plan
//   sync        all samples that the data ranks of a stage compute at the same micro-batch number
//
// Codes: train.norm-group (micro-batches that cut groups), train.norm-sync (ranks that cannot
// meet), train.norm-one-value (a channel of a group is one number, and has no variance).
//
//   for (const Error& error : check_norm(job.plan, job.training)) errors.add(error);
#pragma once

#include <vector>

#include "base/error.hpp"
#include "job/job.hpp"

namespace nereus::job {

// Empty where the model has no BatchNorm.
std::vector<Error> check_norm(const plan::Plan& plan, const Training& training);

}  // namespace nereus::job
