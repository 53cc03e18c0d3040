// A Comm on top of a wire: messages of tensors, and groups whose collectives use a ring (ring.hpp)
// on a thread of the group. A backend only needs to provide a wire.
//
// Tensors on a GPU are copied through pinned host memory.
//
//   return std::make_unique<MessageComm>(
//       std::make_shared<CommCore>("gloo", std::move(wire), std::move(liveness), true));
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/comm/comm.hpp"
#include "worker/comm/liveness.hpp"
#include "worker/comm/wire.hpp"

namespace nereus::worker {

// What messages and groups share; it lives as long as any of them.
struct CommCore {
  std::string name;
  std::unique_ptr<Wire> wire;
  std::unique_ptr<Liveness> liveness;
  // Whether the destructor says good-bye and then waits for the good-byes of the other ranks, so
  // that no connection closes while another rank still reads from it. Must be off for ranks that
  // one thread closes one after the other.
  bool ends_together = true;
  std::atomic<bool> failed = false;
  std::atomic<bool> aborted = false;

  CommCore(std::string backend, std::unique_ptr<Wire> messages, std::unique_ptr<Liveness> life,
           bool together);
  ~CommCore();
};

class MessageComm : public Comm {
 public:
  explicit MessageComm(std::shared_ptr<CommCore> core) : core_(std::move(core)) {}
  int rank() const override { return core_->wire->rank(); }
  int num_ranks() const override { return core_->wire->num_ranks(); }
  Handle send(at::Tensor tensor, int to, std::int64_t tag) override;
  Handle receive(at::Tensor tensor, int from, std::int64_t tag) override;
  std::shared_ptr<Group> group(const std::vector<int>& ranks) override;
  std::string name() const override { return core_->name; }
  void abort() override;

 private:
  std::shared_ptr<CommCore> core_;
  // Number of groups with the same ranks: gives them different slots.
  std::map<std::vector<int>, int> num_groups_;
};

// A number for the `number`-th group of these ranks that no tag and no other group has.
std::uint64_t group_slot(const std::vector<int>& ranks, int number);

// Finds the missing rank, and returns: "rank 0: all-reduce number 3 of ranks {0,1} failed: rank 1
// ... (cause)".
CommError explain(Liveness& liveness, const std::string& operation,
                  const Liveness::Failure& failure, const std::string& cause);

}  // namespace nereus::worker
