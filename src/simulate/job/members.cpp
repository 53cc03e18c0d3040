#include "simulate/job/members.hpp"

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
      chosen[static_cast<std::size_t>(node)] = 1;
    }
  for (std::size_t i = 0; i < there_.size(); ++i)
    if (!chosen[i] && may_work(static_cast<int>(i))) out.push_back(static_cast<int>(i));
  return out;
}

void Members::take(const JobRate& plan) {
  std::vector<int> others = workers();
  const std::size_t places = plan.machines > 0
                                 ? std::min(static_cast<std::size_t>(plan.machines), others.size())
                                 : others.size();
  stages_ = plan.stages;
  members_.assign(places, -1);
  moves_ = true;
  if (stages_ > 0 && stages_ == holders_stages_) {
    const auto stages = static_cast<std::size_t>(stages_);
    std::vector<std::size_t> next(stages);  // free place of each stage
    for (std::size_t s = 0; s < stages; ++s) next[s] = s;
    for (std::size_t i = 0; i < holders_.size(); ++i) {
      const std::size_t stage = i % stages;
      if (!may_work(holders_[i]) || next[stage] >= places) continue;
      members_[next[stage]] = holders_[i];
      next[stage] += stages;
      std::erase(others, holders_[i]);
    }
    moves_ = std::count(members_.begin(), members_.end(), -1) > 0;
  }
  std::size_t at = 0;
  for (int& node : members_)
    if (node < 0) node = others[at++];
}

bool Members::every_stage_survives() const {
  if (holders_stages_ <= 0) return true;
  std::vector<char> alive(static_cast<std::size_t>(holders_stages_));
  for (std::size_t i = 0; i < holders_.size(); ++i)
    if (holders_[i] >= 0 && there_[static_cast<std::size_t>(holders_[i])])
      alive[i % static_cast<std::size_t>(holders_stages_)] = 1;
  return std::count(alive.begin(), alive.end(), 1) == holders_stages_;
}

}  // namespace nereus::simulate
