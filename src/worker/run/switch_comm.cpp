#include "worker/run/switch_comm.hpp"

#include <algorithm>

namespace nereus::worker {

namespace {

class Nothing : public Pending {
 public:
  void wait() override {}
  bool done() override { return true; }
};

Handle nothing() { return std::make_shared<Nothing>(); }

class SwitchGroup : public Group {
 public:
  // `near`: the members on this host as a separate group; null if that is only this rank, or all
  // members.
  SwitchGroup(const SwitchComm& comm, std::shared_ptr<Group> real, std::shared_ptr<Group> near,
              std::vector<int> near_ranks)
      : comm_(comm),
        real_(std::move(real)),
        near_(std::move(near)),
        near_ranks_(std::move(near_ranks)) {}

  const std::vector<int>& ranks() const override { return real_->ranks(); }
  int index() const override { return real_->index(); }
  void count_as_team() override { real_->count_as_team(); }

  Handle all_reduce(at::Tensor flat, Reduction reduction) override {
    if (talks_to_all()) return real_->all_reduce(std::move(flat), reduction);
    if (talks_near()) return near_->all_reduce(std::move(flat), reduction);
    return nothing();
  }
  Handle reduce_scatter(at::Tensor flat, std::vector<Range> ranges) override {
    if (talks_to_all()) return real_->reduce_scatter(std::move(flat), std::move(ranges));
    if (talks_near()) return near_->reduce_scatter(std::move(flat), near_ranges(ranges));
    return nothing();
  }
  Handle all_gather(at::Tensor flat, std::vector<Range> ranges) override {
    if (talks_to_all()) return real_->all_gather(std::move(flat), std::move(ranges));
    for (std::size_t i = 0; i < ranges.size(); ++i)
      if (!hears(ranks()[i])) flat.narrow(0, ranges[i].begin, ranges[i].size()).zero_();
    if (talks_near()) return near_->all_gather(std::move(flat), near_ranges(ranges));
    return nothing();
  }

 private:
  bool talks_to_all() const {
    return comm_.reach == Reach::kAll ||
           (comm_.reach == Reach::kHost && near_ranks_.size() == ranks().size());
  }
  bool talks_near() const { return comm_.reach == Reach::kHost && near_ != nullptr; }
  bool is_near(int rank) const {
    return std::find(near_ranks_.begin(), near_ranks_.end(), rank) != near_ranks_.end();
  }
  bool hears(int rank) const { return rank == ranks()[index()] || (talks_near() && is_near(rank)); }
  std::vector<Range> near_ranges(const std::vector<Range>& ranges) const {
    std::vector<Range> some;
    for (std::size_t i = 0; i < ranges.size(); ++i)
      if (is_near(ranks()[i])) some.push_back(ranges[i]);
    return some;
  }

  const SwitchComm& comm_;
  std::shared_ptr<Group> real_;
  std::shared_ptr<Group> near_;
  std::vector<int> near_ranks_;
};

}  // namespace

bool SwitchComm::reaches(int other) const {
  const auto host = [&](int r) { return hosts_.at(static_cast<std::size_t>(r)); };
  return reach == Reach::kAll || (reach == Reach::kHost && host(other) == host(rank()));
}

Handle SwitchComm::send(at::Tensor tensor, int to, std::int64_t tag) {
  return reaches(to) ? real_.send(std::move(tensor), to, tag) : nothing();
}

Handle SwitchComm::receive(at::Tensor tensor, int from, std::int64_t tag) {
  if (reaches(from)) return real_.receive(std::move(tensor), from, tag);
  tensor.zero_();
  return nothing();
}

std::shared_ptr<Group> SwitchComm::group(const std::vector<int>& ranks) {
  std::shared_ptr<Group> real = real_.group(ranks);
  std::vector<int> near_ranks;
  for (const int r : ranks)
    if (hosts_.at(static_cast<std::size_t>(r)) == hosts_.at(static_cast<std::size_t>(rank())))
      near_ranks.push_back(r);
  std::shared_ptr<Group> near;
  if (near_ranks.size() > 1 && near_ranks.size() < ranks.size()) near = real_.group(near_ranks);
  return std::make_shared<SwitchGroup>(*this, std::move(real), std::move(near),
                                       std::move(near_ranks));
}

}  // namespace nereus::worker
