// The base class of wires that have a thread: keeps the messages that were started and not yet
// moved, and matches sends with receives. A message is sent only after the other side has started a
// receive for its slot and has announced this in a notice, so that no message blocks the messages
// behind it. The wire's thread moves the bytes.
//
// A wire calls take_new(), sends notices to the other side, passes received notices to
// hear_notice(), moves the bytes of sending.front() and of arriving messages, and calls finish().
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "worker/comm/wire.hpp"

namespace nereus::worker {

// The header before the bytes of a message.
struct MessageHead {
  std::uint64_t slot = 0;
  std::uint64_t size = 0;
};

class MatchedWire : public Wire {
 public:
  int rank() const override { return rank_; }
  int num_ranks() const override { return static_cast<int>(peers_.size()); }
  std::unique_ptr<Parcel> send(const void* bytes, std::size_t size, int to,
                               std::uint64_t slot) override;
  std::unique_ptr<Parcel> receive(void* bytes, std::size_t size, int from,
                                  std::uint64_t slot) override;
  void abort() override;

 protected:
  struct Message {
    // Null after the parcel of the message was destroyed. The transfer still takes place, but
    // arriving bytes are discarded, and the bytes of a send are arbitrary.
    char* bytes = nullptr;
    std::size_t size = 0;
    int peer = 0;
    std::uint64_t slot = 0;
    bool receives = false;
    std::size_t moved = 0;
    bool done = false;
    std::string complaint = {};

    char* next_bytes() const { return bytes == nullptr ? nullptr : bytes + moved; }
    std::size_t left() const { return size - moved; }
  };
  using Queue = std::deque<std::shared_ptr<Message>>;
  struct Peer {
    std::map<std::uint64_t, Queue> to_send, to_receive;  // by slot
    std::map<std::uint64_t, std::uint64_t> ready;        // receives that the other side has started
    Queue sending;                                       // messages whose receive has started
    std::deque<std::uint64_t> notices;                   // not yet sent
    std::shared_ptr<Message> arriving;
  };

  MatchedWire(int rank, int num_ranks, std::chrono::milliseconds timeout);

  virtual void wake() = 0;                   // wakes the thread, from any other thread
  virtual bool is_gone(int peer) const = 0;  // called by threads that wait
  Peer& peer(int other) { return peers_[other]; }

  // Only called by the wire's thread.
  bool take_new();  // false: the thread must end
  void hear_notice(int other, std::uint64_t slot);
  void begin_arrival(int other, const MessageHead& head);
  void finish(Message& message, const std::string& complaint = {});
  void end_thread();  // take_new() then returns false

  std::mutex copying_;  // held while memory of messages is accessed

 private:
  class MatchedParcel;
  std::unique_ptr<Parcel> start(char* bytes, std::size_t size, int other, std::uint64_t slot,
                                bool receives);
  static void match(Peer& peer, std::uint64_t slot);

  const int rank_;
  const std::chrono::milliseconds timeout_;
  std::vector<Peer> peers_;  // only used by the thread

  std::mutex mutex_;  // protects the following, and `done` of messages
  std::condition_variable finished_;
  std::vector<std::shared_ptr<Message>> new_messages_;
  bool ending_ = false;
  bool aborted_ = false;
};

}  // namespace nereus::worker
