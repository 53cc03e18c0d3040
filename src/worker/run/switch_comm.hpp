// A Comm whose words can be taken away, so that the same step runs with and without talking.
//
//   SwitchComm comm(real, host_of_rank);
//   Executor executor(job, comm, read);
//   comm.reach = Reach::kNone;          // sums are each rank's own, what others would say is zero
//   executor.run(step);                 // nobody is waited for
//
//   kNone    no rank talks
//   kHost    ranks of one host talk among themselves; what crosses hosts is left out
//   kAll     as the real one
//
// What is left out is made zero, not left as memory was: numbers that are no normal ones would make
// arithmetic slower, and be measured. Switch between steps alone, all ranks alike.
#pragma once

#include "worker/comm/through_comm.hpp"

namespace nereus::worker {

enum class Reach { kNone, kHost, kAll };

class SwitchComm : public ThroughComm {
 public:
  // `hosts[r]`: a number of the host that rank r is on.
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
