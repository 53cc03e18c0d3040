// A Comm that can be switched off, so that the same step runs with and without communication.
//
//   SwitchComm comm(real, host_of_rank);
//   Executor executor(job, comm, read);
//   comm.reach = Reach::kNone;          // reductions return this rank's values, receives zeros
//   executor.run(step);                 // waits for no other rank
//
//   kNone    no communication
//   kHost    only between ranks of one host
//   kAll     everything, like the real Comm
//
// Data that would be received are set to zero instead of left uninitialized: denormal numbers would
// slow down arithmetic and distort the measurement. Only switch between steps, on all ranks.
#pragma once

#include "worker/comm/through_comm.hpp"

namespace nereus::worker {

enum class Reach { kNone, kHost, kAll };

class SwitchComm : public ThroughComm {
 public:
  // `hosts[r]` is a number that identifies the host of rank r.
  SwitchComm(Comm& real, std::vector<int> hosts) : ThroughComm(real), hosts_(std::move(hosts)) {}

  Handle send(at::Tensor tensor, int to, std::int64_t tag) override;
  Handle receive(at::Tensor tensor, int from, std::int64_t tag) override;
  std::shared_ptr<Group> group(const std::vector<int>& ranks) override;

  Reach reach = Reach::kAll;

 private:
  bool reaches(int rank) const;

  std::vector<int> hosts_;
};

}  // namespace nereus::worker
