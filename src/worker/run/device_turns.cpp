#include "worker/run/device_turns.hpp"

#include <chrono>
#include <thread>

#include "job/reporter.hpp"

namespace nereus::worker {

DeviceTurns::DeviceTurns(const job::Job& job, int local_rank, Comm& comm)
    : comm_(comm), gap_s_(job.sharing.gap_s) {
  const std::string file = job::gate_file(job.sharing, local_rank);
  if (file.empty()) return;
  const at::Device device(job.machine.device);
  if (job.sharing.waits) {
    pieces_.emplace(file, device, [] { return job::asked() != job::Asked::kNothing; });
    return;
  }
  host_.emplace(job::Gate(file), device.is_cuda());
  std::function<void()> drain;
  if (device.is_cuda()) drain = [] { torch::cuda::synchronize(); };
  opening_ = std::make_unique<GateComm>(comm, *host_, std::move(drain));
}

void DeviceTurns::begin_step() {
  if (!host_) return;
  host_->close();
  opening_->begin_step();
}

std::function<void()> DeviceTurns::at_rest() {
  if (host_) return [this] { host_->give_way(gap_s_); };
  if (gap_s_ > 0)
    return [this] { std::this_thread::sleep_for(std::chrono::duration<double>(gap_s_)); };
  return {};
}

}  // namespace nereus::worker
