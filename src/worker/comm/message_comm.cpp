#include "worker/comm/message_comm.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "worker/comm/ring_group.hpp"
#include "worker/device/torch_compat.hpp"

namespace nereus::worker {
namespace {

constexpr std::uint64_t kGroupSlot = 1ULL << 63;  // slots of groups; the others are tags

class MessageHandle : public Pending {
 public:
  MessageHandle(std::shared_ptr<CommCore> core, at::Tensor tensor, at::Tensor host, int peer,
                std::int64_t tag, bool receives)
      : core_(std::move(core)),
        tensor_(std::move(tensor)),
        host_(std::move(host)),
        peer_(peer),
        slot_(static_cast<std::uint64_t>(tag)),
        receives_(receives) {
    try {
      if (core_->aborted) throw WireError("told to end", peer);
      parcel_ = receives ? core_->wire->receive(host_.data_ptr(), host_.nbytes(), peer, slot_)
                         : core_->wire->send(host_.data_ptr(), host_.nbytes(), peer, slot_);
    } catch (const WireError& error) {
      broken_at_start_ = error;
    }
  }

  void wait() override {
    if (failure_) throw *failure_;
    try {
      if (broken_at_start_) throw *broken_at_start_;
      if (!parcel_) return;
      const Liveness::Wait waiting(*core_->liveness, peer_);
      parcel_->wait();
    } catch (const WireError& error) {
      core_->failed = true;
      failure_ =
          explain(*core_->liveness,
                  receives_ ? fmt::format("receive of tag {} from rank {}", slot_, peer_.load())
                            : fmt::format("send of tag {} to rank {}", slot_, peer_.load()),
                  {peer_, slot_, {}}, error.what());
      throw *failure_;
    }
    parcel_.reset();
    if (receives_) from_host(host_, tensor_);
    tensor_.reset();
    host_.reset();
  }

  bool done() override { return failure_ || broken_at_start_ || !parcel_ || parcel_->done(); }

 private:
  std::shared_ptr<CommCore> core_;
  at::Tensor tensor_, host_;
  const std::atomic<int> peer_;
  const std::uint64_t slot_;
  const bool receives_;
  std::unique_ptr<Parcel> parcel_;  // gone before the tensors
  std::optional<WireError> broken_at_start_;
  std::optional<CommError> failure_;
};

void check_message(const Comm& comm, const at::Tensor& tensor, int peer, std::int64_t tag) {
  NEREUS_CHECK(tensor.is_contiguous(), "messages are contiguous tensors");
  NEREUS_CHECK(peer != comm.rank() && peer >= 0 && peer < comm.num_ranks(),
               fmt::format("no other rank {} among {}", peer, comm.num_ranks()));
  NEREUS_CHECK(tag >= 0, "tags are not negative");
}

}  // namespace

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

CommCore::CommCore(std::string backend, std::unique_ptr<Wire> messages,
                   std::unique_ptr<Liveness> life, bool together)
    : name(std::move(backend)),
      wire(std::move(messages)),
      liveness(std::move(life)),
      ends_together(together) {}

CommCore::~CommCore() {
  if (!failed) liveness->leave(ends_together);
}

CommError explain(Liveness& liveness, const std::string& operation,
                  const Liveness::Failure& failure, const std::string& cause) {
  const Verdict verdict = liveness.find_missing(failure);
  const std::string who = verdict.missing_rank < 0
                              ? "no rank is known to be missing"
                              : fmt::format("rank {} {}", verdict.missing_rank, verdict.reason);
  return {fmt::format("rank {}: {} failed: {} ({})", liveness.rank(), operation, who, cause),
          verdict.missing_rank};
}

Handle MessageComm::send(at::Tensor tensor, int to, std::int64_t tag) {
  check_message(*this, tensor, to, tag);
  at::Tensor host = to_host(tensor, DeviceMark(tensor));
  return std::make_shared<MessageHandle>(core_, std::move(tensor), std::move(host), to, tag, false);
}

Handle MessageComm::receive(at::Tensor tensor, int from, std::int64_t tag) {
  check_message(*this, tensor, from, tag);
  at::Tensor host = host_like(tensor);
  return std::make_shared<MessageHandle>(core_, std::move(tensor), std::move(host), from, tag,
                                         true);
}

// Whom to blame is not asked any more: those that wait would look for it.
void MessageComm::abort() {
  core_->failed = true;
  core_->aborted = true;
  core_->liveness->stop_looking();
  core_->wire->abort();
}

std::shared_ptr<Group> MessageComm::group(const std::vector<int>& ranks) {
  NEREUS_CHECK(std::set<int>(ranks.begin(), ranks.end()).size() == ranks.size(),
               "a rank is in a group once");
  for (const int member : ranks)
    NEREUS_CHECK(member >= 0 && member < num_ranks(), fmt::format("no rank {}", member));
  return std::make_shared<RingGroup>(core_, ranks, group_slot(ranks, num_groups_[ranks]++));
}

}  // namespace nereus::worker
