// A wire through shared memory: one thread a rank copies messages into and out of the rings, piece
// by piece, so both sides work at the same time and the rings stay in the caches. Through a ring go
// a head and the bytes of a message, messages one after the other.
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
  std::vector<bool> head_sent_;  // of the first message to each peer
  std::vector<int> processes_;   // descriptors that tell when a peer's process ended; -1: unknown
  std::thread thread_;
};

}  // namespace nereus::worker
