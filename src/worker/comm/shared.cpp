// Backend "shared": ranks of one host use shared memory, for several ranks on one machine or one
// GPU.
#include <utility>

#include "worker/comm/backends.hpp"
#include "worker/comm/cards.hpp"
#include "worker/comm/message_comm.hpp"
#include "worker/comm/shared_memory.hpp"
#include "worker/comm/shared_wire.hpp"

namespace nereus::worker {
namespace {

const char* const kOwnHost = "127.0.0.1";

std::unique_ptr<Comm> open_on(const std::shared_ptr<SharedMemory>& memory,
                              std::unique_ptr<Liveness> liveness, int rank,
                              std::chrono::milliseconds timeout) {
  liveness->start(addresses_of_alike(memory->said()));
  // Messages stay in the memory, so no rank need wait for the others to leave.
  return std::make_unique<MessageComm>(std::make_shared<CommCore>(
      "shared", std::make_unique<SharedWire>(memory, rank, timeout), std::move(liveness), false));
}

}  // namespace

std::unique_ptr<Comm> open_shared(const CommOptions& options) {
  auto liveness =
      std::make_unique<Liveness>(options.rank, options.num_ranks, kOwnHost, options.timeout);
  const auto memory =
      SharedMemory::meet(options, address_and_card(liveness->address(), options.card));
  return open_on(memory, std::move(liveness), options.rank, options.timeout);
}

std::vector<std::unique_ptr<Comm>> open_local_shared(int num_ranks,
                                                     std::chrono::milliseconds timeout) {
  const auto memory = SharedMemory::make_local(num_ranks);
  std::vector<std::unique_ptr<Liveness>> all;
  for (int rank = 0; rank < num_ranks; ++rank) {
    all.push_back(std::make_unique<Liveness>(rank, num_ranks, kOwnHost, timeout));
    memory->join(rank, all.back()->address());
  }
  std::vector<std::unique_ptr<Comm>> comms;
  for (int rank = 0; rank < num_ranks; ++rank)
    comms.push_back(open_on(memory, std::move(all[rank]), rank, timeout));
  return comms;
}

}  // namespace nereus::worker
