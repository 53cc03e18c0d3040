// A wire over shared memory: one thread per rank copies messages into and out of the ring buffers,
// piece by piece, so that both sides work at the same time and the buffers stay in the caches. Each
// message is a header and its bytes, one message after the other.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "worker/comm/matched_wire.hpp"
#include "worker/comm/shared_memory.hpp"

namespace nereus::worker {

class SharedWire : public MatchedWire {
 public:
  SharedWire(std::shared_ptr<SharedMemory> memory, int rank, std::chrono::milliseconds timeout);
  ~SharedWire() override;

 private:
  void wake() override { memory_->ring_doorbell(rank()); }
  bool is_gone(int other) const override;
  void run();
  bool move_some();
  bool exchange_notices(int other);
  bool move_out(int other);
  bool move_in(int other);

  std::shared_ptr<SharedMemory> memory_;
  std::vector<bool> head_sent_;  // whether the header of the first message to each peer was sent
  std::vector<int> processes_;   // descriptors that signal the end of a peer's process; -1: unknown
  std::thread thread_;
};

}  // namespace nereus::worker
