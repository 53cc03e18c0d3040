// How a rank shares its device with another job. A foreground rank opens the gate while it waits,
// and once per step after all reductions and before the update, when its device is idle anyway. A
// background rank waits at the gate before each piece. Without a gate, nothing happens.
//
//   DeviceTurns turns(job, local_rank, comm);
//   Executor executor(job, turns.comm(), read);
//   executor.pieces = turns.pieces();
//   executor.at_rest = turns.at_rest();
//   turns.begin_step();  executor.run(step);
#pragma once

#include <memory>
#include <optional>

#include "job/job.hpp"
#include "worker/run/gate_comm.hpp"
#include "worker/state/pieces.hpp"

namespace nereus::worker {

class DeviceTurns {
 public:
  // `comm` must outlive this.
  DeviceTurns(const job::Job& job, int local_rank, Comm& comm);

  Comm& comm() { return opening_ ? *opening_ : comm_; }
  Pieces* pieces() { return pieces_ ? &*pieces_ : nullptr; }
  std::function<void()> at_rest();
  void begin_step();

 private:
  Comm& comm_;
  double gap_s_;
  std::optional<job::GateHost> host_;
  std::unique_ptr<GateComm> opening_;
  std::optional<Pieces> pieces_;
};

}  // namespace nereus::worker
