// A wire through shared memory: one thread a rank copies messages into and out of the rings, piece
// by piece, so both sides work at the same time and the rings stay in the caches.
//
// A message waits until the other side started the receive of its slot and said so (a notice).
// Then a head {slot, size} and the bytes go through the ring, messages one after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "worker/comm/shared_memory.hpp"
#include "worker/comm/wire.hpp"

namespace nereus::worker {

class SharedWire : public Wire {
 public:
  SharedWire(std::shared_ptr<SharedMemory> memory, int rank, std::chrono::milliseconds timeout);
  ~SharedWire() override;
  int rank() const override { return rank_; }
  int num_ranks() const override { return memory_->num_ranks(); }
  std::unique_ptr<Parcel> send(const void* bytes, std::size_t size, int to,
                               std::uint64_t slot) override;
  std::unique_ptr<Parcel> receive(void* bytes, std::size_t size, int from,
                                  std::uint64_t slot) override;

 private:
  struct Message;
  struct Peer;
  class SharedParcel;

  std::unique_ptr<Parcel> start(char* bytes, std::size_t size, int peer, std::uint64_t slot,
                                bool receives);
  void run();
  bool move_some();
  void take_new();
  bool exchange_notices(int other);
  bool move_out(int other);
  bool move_in(int other);
  void finish(Message& message, const char* complaint);
  bool is_gone(int peer) const;

  std::shared_ptr<SharedMemory> memory_;
  const int rank_;
  const std::chrono::milliseconds timeout_;

  std::mutex copying_;       // held while memory of messages is touched
  std::vector<Peer> peers_;  // of the thread alone

  std::mutex mutex_;  // of what follows, and of `done` of messages
  std::condition_variable finished_;
  std::vector<std::shared_ptr<Message>> new_messages_;
  bool ending_ = false;
  std::vector<int> processes_;  // descriptors that tell when a peer's process ended; -1: unknown
  std::thread thread_;
};

}  // namespace nereus::worker
