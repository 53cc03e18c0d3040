// What an elastic job cannot do, said before anything starts. Inside app/ only.
#pragma once

#include "app/train/train_elastic.hpp"
#include "job/job.hpp"

namespace nereus::app {

// All throw Errors.
void check_agents(const ElasticRequest& elastic);
void check_folder(const std::string& folder);
// The request as train() would take it: gloo, checkpoints in the job's folder.
TrainRequest completed(TrainRequest request, const ElasticRequest& elastic);
// A folder goes on with the job it was begun with.
void check_same_job(const std::string& folder, const job::Job& job);
// Losses must not depend on which machines are there.
void check_norm(const model::Model& model, const job::Training& training);

}  // namespace nereus::app
