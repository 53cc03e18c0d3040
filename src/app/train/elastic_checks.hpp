// Checks what an elastic job cannot do, before anything starts. Only for use inside app/.
#pragma once

#include "app/train/train_elastic.hpp"
#include "job/job.hpp"

namespace nereus::app {

// All throw Errors.
void check_agents(const ElasticRequest& elastic);
void check_folder(const std::string& folder);
// Completes the request for train(): gloo, checkpoints in the job's folder.
TrainRequest completed(TrainRequest request, const ElasticRequest& elastic);
// A folder can only be continued with the same job.
void check_same_job(const std::string& folder, const job::Job& job);
// Losses must not depend on which machines are available.
void check_norm(const model::Model& model, const job::Training& training);

}  // namespace nereus::app
