// A Comm whose waits let a background job run: while this rank waits for others, it does not need
// its device. The length of a wait is predicted from the previous steps (for the n-th wait of a
// step: the shortest of the n-th waits of the last four steps, minus a tenth as a margin).
//
//   GateComm comm(real, host, drain);   // drain: waits until the device is idle
//   Executor executor(job, comm, read);
//   comm.begin_step();                  // before each step
//
// If a wait only makes the device wait (NCCL), the host continues at once, and the gate is not
// opened.
#pragma once

#include <array>
#include <functional>
#include <thread>

#include "job/gate.hpp"
#include "worker/comm/through_comm.hpp"

namespace nereus::worker {

class GateComm : public ThroughComm {
 public:
  // Both must outlive this. Only waits on the constructing thread count.
  GateComm(Comm& real, job::GateHost& host, std::function<void()> drain = {})
      : ThroughComm(real), host_(host), drain_(std::move(drain)) {}

  Handle send(at::Tensor tensor, int to, std::int64_t tag) override;
  Handle receive(at::Tensor tensor, int from, std::int64_t tag) override;
  std::shared_ptr<Group> group(const std::vector<int>& ranks) override;

  void begin_step() { next_ = 0; }
  void wait(Pending& real);

 private:
  struct Wait {
    std::array<double, 4> last{};  // seconds; 0 at first
    std::size_t count = 0;
  };

  job::GateHost& host_;
  std::function<void()> drain_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::vector<Wait> waits_;  // of one step, in order
  std::size_t next_ = 0;
};

}  // namespace nereus::worker
