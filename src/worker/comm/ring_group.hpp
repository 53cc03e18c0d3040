// A group whose collectives use a ring, on a separate thread, in the order in which they were
// started.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "worker/comm/fifo_thread.hpp"
#include "worker/comm/message_comm.hpp"
#include "worker/comm/ring.hpp"
#include "worker/device/torch_compat.hpp"

namespace nereus::worker {

class RingGroup : public Group {
 public:
  // All messages of this group use `slot`. Another group that shares two or more members with this
  // group must use another slot.
  RingGroup(std::shared_ptr<CommCore> core, std::vector<int> ranks, std::uint64_t slot);
  const std::vector<int>& ranks() const override { return ranks_; }
  int index() const override { return index_; }
  Handle all_reduce(at::Tensor flat, Reduction reduction) override;
  Handle reduce_scatter(at::Tensor flat, std::vector<Range> ranges) override;
  Handle all_gather(at::Tensor flat, std::vector<Range> ranges) override;

 private:
  using Collective = std::function<void(const Ring&, const Elements&)>;
  void run(const std::string& what, at::Tensor flat, const DeviceMark& ready,
           const Collective& collective);
  Handle start(const char* name, at::Tensor flat, Collective collective);
  void check_ranges(const at::Tensor& flat, const std::vector<Range>& ranges) const;

  std::shared_ptr<CommCore> core_;
  std::vector<int> ranks_;
  int index_ = 0;
  std::uint64_t slot_;
  std::uint64_t num_started_ = 0;
  std::shared_ptr<std::atomic<int>> waits_for_;  // the member that the ring waits for now
  Landing landing_;                              // used by the thread
  // Only used by the thread: the first failure; later operations fail with it.
  std::exception_ptr broken_;
  FifoThread thread_;  // last, because it uses the other members
};

}  // namespace nereus::worker
