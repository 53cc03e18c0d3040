// Runs the steps of one generation: until the job's last step, or until a step after which the
// ranks agree to end. Saves checkpoints when the job's settings or the coordinator require it.
//
//   run_steps(life, commands, generation, say, remark);       // throws CommError if it is aborted
#pragma once

#include <functional>

#include "job/message.hpp"
#include "worker/elastic/commands.hpp"
#include "worker/elastic/life.hpp"
#include "worker/elastic/newest_checkpoint.hpp"

namespace nereus::worker {

using Say = std::function<void(const job::Message& message)>;

void run_steps(Life& life, Commands& commands, std::int64_t generation, const Say& say,
               const Remark& remark);

}  // namespace nereus::worker
