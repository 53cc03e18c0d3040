#include "worker/comm/message_comm.hpp"

#include <fmt/format.h>

#include <exception>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "worker/comm/ring_group.hpp"
#include "worker/torch_compat.hpp"

namespace nereus::worker {
namespace {

constexpr std::uint64_t kGroupSlot = 1ULL << 63;  // slots of groups; the others are tags

// FNV-1a over ranks and the number of the group: 63 bits, so two groups of a job never meet.
std::uint64_t group_slot(const std::vector<int>& ranks, int number) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto mix = [&](std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash ^= (value >> (8 * byte)) & 0xff;
      hash *= 1099511628211ULL;
    }
  };
  for (const int rank : ranks) mix(static_cast<std::uint64_t>(rank));
  mix(static_cast<std::uint64_t>(number) + (1ULL << 32));  // no rank
  return hash | kGroupSlot;
}

class MessageHandle : public Pending {
 public:
  MessageHandle(std::shared_ptr<CommCore> core, std::string operation, at::Tensor tensor,
                at::Tensor host, bool receives)
      : core_(std::move(core)),
        operation_(std::move(operation)),
        tensor_(std::move(tensor)),
        host_(std::move(host)),
        receives_(receives) {}

  std::unique_ptr<Parcel> parcel;  // set once, right after construction

  void wait() override {
    if (failure_) std::rethrow_exception(failure_);
    if (!parcel) return;
    try {
      parcel->wait();
    } catch (const WireError& error) {
      try {
        throw_comm_error(*core_, operation_, error);
      } catch (const CommError&) {
        failure_ = std::current_exception();
        throw;
      }
    }
    parcel.reset();
    if (receives_) from_host(host_, tensor_);
    tensor_.reset();
    host_.reset();
  }

 private:
  std::shared_ptr<CommCore> core_;
  std::string operation_;
  at::Tensor tensor_, host_;
  bool receives_;
  std::exception_ptr failure_;
};

}  // namespace

void throw_comm_error(const CommCore& core, const std::string& operation, const WireError& error) {
  throw CommError(fmt::format("rank {}: {} failed: rank {} is missing ({})", core.wire->rank(),
                              operation, error.peer, error.what()),
                  error.peer);
}

MessageComm::MessageComm(std::string name, std::unique_ptr<Wire> wire)
    : core_(std::make_shared<CommCore>(CommCore{std::move(name), std::move(wire)})) {}

Handle MessageComm::send(at::Tensor tensor, int to, std::int64_t tag) {
  NEREUS_CHECK(tensor.is_contiguous(), "messages are contiguous tensors");
  NEREUS_CHECK(to != rank() && to >= 0 && to < num_ranks(),
               fmt::format("no rank {} to send to", to));
  NEREUS_CHECK(tag >= 0, "tags are not negative");
  at::Tensor host = to_host(tensor, DeviceMark(tensor));
  auto handle = std::make_shared<MessageHandle>(
      core_, fmt::format("send of tag {} to rank {}", tag, to), tensor, host, false);
  handle->parcel =
      core_->wire->send(host.data_ptr(), host.nbytes(), to, static_cast<std::uint64_t>(tag));
  return handle;
}

Handle MessageComm::receive(at::Tensor tensor, int from, std::int64_t tag) {
  NEREUS_CHECK(tensor.is_contiguous(), "messages are contiguous tensors");
  NEREUS_CHECK(from != rank() && from >= 0 && from < num_ranks(),
               fmt::format("no rank {} to receive from", from));
  NEREUS_CHECK(tag >= 0, "tags are not negative");
  at::Tensor host = host_like(tensor);
  auto handle = std::make_shared<MessageHandle>(
      core_, fmt::format("receive of tag {} from rank {}", tag, from), tensor, host, true);
  handle->parcel =
      core_->wire->receive(host.data_ptr(), host.nbytes(), from, static_cast<std::uint64_t>(tag));
  return handle;
}

std::shared_ptr<Group> MessageComm::group(const std::vector<int>& ranks) {
  NEREUS_CHECK(std::set<int>(ranks.begin(), ranks.end()).size() == ranks.size(),
               "a rank is in a group once");
  for (const int member : ranks)
    NEREUS_CHECK(member >= 0 && member < num_ranks(), fmt::format("no rank {}", member));
  return std::make_shared<RingGroup>(core_, ranks, group_slot(ranks, num_groups_[ranks]++));
}

}  // namespace nereus::worker
