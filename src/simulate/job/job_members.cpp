#include "simulate/job/job_members.hpp"

#include <algorithm>

namespace nereus::simulate {

int Members::num_there() const {
  return static_cast<int>(std::count(there_.begin(), there_.end(), 1));
}

int Members::num_usable() const {
  int count = 0;
  for (std::size_t i = 0; i < there_.size(); ++i) count += there_[i] && !leaving_[i];
  return count;
}

bool Members::uses(int node) const {
  return std::find(members_.begin(), members_.end(), node) != members_.end();
}

std::vector<int> Members::workers() const {
  std::vector<int> out;
  std::vector<char> chosen(there_.size());
  for (const int node : holders_)
    if (may_work(node)) {
      out.push_back(node);
      chosen[node] = 1;
    }
  const auto others = static_cast<std::ptrdiff_t>(out.size());
  for (std::size_t i = 0; i < there_.size(); ++i)
    if (!chosen[i] && may_work(static_cast<int>(i))) out.push_back(static_cast<int>(i));
  std::sort(out.begin() + others, out.end(),
            [&](int a, int b) { return arrival_[a] < arrival_[b]; });
  return out;
}

void Members::take(const JobRate& plan) {
  const std::vector<int> machines = workers();
  const int most = static_cast<int>(machines.size());
  stages_ =
      plan::even_stages(plan.machines > 0 ? std::min(plan.machines, most) : most, plan.stages);
  std::vector<plan::HeldStage> holds(machines.size());
  for (std::size_t i = 0, m = 0; i < holders_.size(); ++i)
    if (may_work(holders_[i])) holds[m++] = held_[i];
  members_.clear();
  moves_ = plan.stages <= 0;
  for (const int who : plan::places_that_keep_stages(holds, stages_)) {
    moves_ |= holds[who] != stages_[members_.size()];
    members_.push_back(machines[who]);
  }
}

bool Members::every_stage_survives() const {
  if (held_.empty() || held_.front().stages <= 0) return true;
  std::vector<char> alive(static_cast<std::size_t>(held_.front().stages));
  for (std::size_t i = 0; i < holders_.size(); ++i)
    if (holders_[i] >= 0 && there_[holders_[i]]) alive[held_[i].stage] = 1;
  return std::count(alive.begin(), alive.end(), 1) == held_.front().stages;
}

}  // namespace nereus::simulate
