#include "worker/run/gate_comm.hpp"

#include <algorithm>

namespace nereus::worker {

namespace {

constexpr double kShortest = 2e-4;  // seconds; less is not worth a piece
constexpr double kSure = 0.9;       // of what is expected

class GatePending : public Pending {
 public:
  GatePending(GateComm& comm, Handle real) : comm_(comm), real_(std::move(real)) {}
  void wait() override {
    if (waited_) return;
    waited_ = true;
    comm_.wait(*real_);
  }
  void wait_on_host() override {
    wait();
    real_->wait_on_host();
  }
  bool done() override { return real_->done(); }

 private:
  GateComm& comm_;
  Handle real_;
  bool waited_ = false;
};

class GateGroup : public Group {
 public:
  GateGroup(GateComm& comm, std::shared_ptr<Group> real) : comm_(comm), real_(std::move(real)) {}
  const std::vector<int>& ranks() const override { return real_->ranks(); }
  int index() const override { return real_->index(); }
  void count_as_team() override { real_->count_as_team(); }
  Handle all_reduce(at::Tensor flat, Reduction reduction) override {
    return of(real_->all_reduce(std::move(flat), reduction));
  }
  Handle reduce_scatter(at::Tensor flat, std::vector<Range> ranges) override {
    return of(real_->reduce_scatter(std::move(flat), std::move(ranges)));
  }
  Handle all_gather(at::Tensor flat, std::vector<Range> ranges) override {
    return of(real_->all_gather(std::move(flat), std::move(ranges)));
  }

 private:
  Handle of(Handle real) {
    traffic_ = real_->traffic();
    return std::make_shared<GatePending>(comm_, std::move(real));
  }

  GateComm& comm_;
  std::shared_ptr<Group> real_;
};

}  // namespace

Handle GateComm::send(at::Tensor tensor, int to, std::int64_t tag) {
  return std::make_shared<GatePending>(*this, real_.send(std::move(tensor), to, tag));
}

Handle GateComm::receive(at::Tensor tensor, int from, std::int64_t tag) {
  return std::make_shared<GatePending>(*this, real_.receive(std::move(tensor), from, tag));
}

std::shared_ptr<Group> GateComm::group(const std::vector<int>& ranks) {
  return std::make_shared<GateGroup>(*this, real_.group(ranks));
}

void GateComm::wait(Pending& real) {
  if (std::this_thread::get_id() != thread_) return real.wait();
  const std::size_t turn = next_++;
  if (turn >= waits_.size()) waits_.resize(turn + 1);
  double took = 0;
  if (!real.done()) {
    if (drain_) drain_();
    const std::array<double, 4>& last = waits_[turn].last;
    const double expected = *std::min_element(last.begin(), last.end());
    const std::int64_t start = job::gate_now();
    if (expected >= kShortest) host_.open_for(kSure * expected);
    real.wait();
    host_.close();
    took = static_cast<double>(job::gate_now() - start) * 1e-9;
  } else {
    real.wait();
  }
  Wait& own = waits_[turn];
  own.last[own.count++ % own.last.size()] = took;
}

}  // namespace nereus::worker
