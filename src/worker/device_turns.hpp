// What a rank does about the job it shares its device with: the foreground's opens the gate while
// it waits and after each step, the background's waits there piece by piece. Without a gate:
// nothing.
//
//   DeviceTurns turns(job, local_rank, comm);
//   Executor executor(job, turns.comm(), read);
//   executor.pieces = turns.pieces();
//   turns.begin_step();  executor.run(step);  turns.end_step();
#pragma once

#include <memory>
#include <optional>

#include "job/job.hpp"
#include "worker/gate_comm.hpp"
#include "worker/pieces.hpp"

namespace nereus::worker {

class DeviceTurns {
 public:
  // `comm` must outlive this.
  DeviceTurns(const job::Job& job, int local_rank, Comm& comm);

  Comm& comm() { return opening_ ? *opening_ : comm_; }
  Pieces* pieces() { return pieces_ ? &*pieces_ : nullptr; }
  void begin_step();
  void end_step();

 private:
  Comm& comm_;
  double gap_s_;
  std::optional<job::GateHost> host_;
  std::unique_ptr<GateComm> opening_;
  std::optional<Pieces> pieces_;
};

}  // namespace nereus::worker
