#include "worker/state/norm_groups.hpp"

#include <cmath>

namespace nereus::worker {

std::int64_t num_norm_groups(const job::Training& training, const plan::Placement& placement,
                             const StageWork& work) {
  if (training.norm == job::NormScope::kSync)
    return static_cast<std::int64_t>(work.micro_batches.size());
  if (training.norm_group > 0) return placement.global_batch / training.norm_group;
  return work.num_in_run;
}

NormGroups norm_groups(const job::Training& training, const plan::Placement& placement,
                       const StageWork& work, int number, Group* together) {
  const MicroBatch& batch = work.micro_batch(number);
  NormGroups groups;
  groups.total = num_norm_groups(training, placement, work);
  if (training.norm == job::NormScope::kSync) {
    groups.first = number - work.first_micro_batch;
    groups.sync = together;
  } else if (training.norm_group > 0) {
    groups.samples = training.norm_group;
    groups.first = batch.first_sample / training.norm_group;
  } else {
    groups.first = batch.place;
  }
  return groups;
}

StatisticsSum::StatisticsSum(std::vector<NormStatistics*> layers, Group* data)
    : layers_(std::move(layers)) {
  if (layers_.empty()) return;
  std::vector<at::Tensor> steps;
  for (const NormStatistics* layer : layers_) steps.push_back(layer->step.view({-1}));
  flat_ = at::cat(steps);
  if (data) summing_ = data->all_reduce(flat_);
}

void StatisticsSum::wait() {
  if (summing_) summing_->wait();
}

void StatisticsSum::apply(std::int64_t num_groups) {
  std::int64_t at = 0;
  for (NormStatistics* layer : layers_) {
    const std::int64_t size = layer->step.numel();
    layer->running.mul_(std::pow(1 - layer->of.momentum, static_cast<double>(num_groups)));
    layer->running.add_(flat_.narrow(0, at, size).view_as(layer->running));
    layer->num_batches += num_groups;
    at += size;
  }
}

}  // namespace nereus::worker
