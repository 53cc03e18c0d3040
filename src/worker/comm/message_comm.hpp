// A Comm made of a wire: messages of tensors, and groups whose collectives go round a ring
// (ring.hpp) on a thread of the group. Backends bring a wire and nothing else.
//
// Tensors of a GPU pass through pinned memory of the host.
//
//   return std::make_unique<MessageComm>("gloo", std::move(wire));
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/comm/comm.hpp"
#include "worker/comm/wire.hpp"

namespace nereus::worker {

// What messages and groups share, and what lives as long as any of them.
struct CommCore {
  std::string name;
  std::unique_ptr<Wire> wire;
};

class MessageComm : public Comm {
 public:
  MessageComm(std::string name, std::unique_ptr<Wire> wire);
  int rank() const override { return core_->wire->rank(); }
  int num_ranks() const override { return core_->wire->num_ranks(); }
  Handle send(at::Tensor tensor, int to, std::int64_t tag) override;
  Handle receive(at::Tensor tensor, int from, std::int64_t tag) override;
  std::shared_ptr<Group> group(const std::vector<int>& ranks) override;
  std::string name() const override { return core_->name; }

 private:
  std::shared_ptr<CommCore> core_;
  std::map<std::vector<int>, int> num_groups_;  // of the same ranks: tells their slots apart
};

// What a collective or message that failed says.
[[noreturn]] void throw_comm_error(const CommCore& core, const std::string& operation,
                                   const WireError& error);

}  // namespace nereus::worker
