// What wires with a thread of their own share: messages that were started and not yet moved, and
// who meets whom. A message waits until the other side started the receive of its slot and said so
// (a notice), so that none ever blocks those behind it. The thread of the wire moves the bytes.
//
// A wire calls take_new(), tells notices to the other side, passes those it hears to hear_notice(),
// moves the bytes of sending.front() and of arriving messages, and calls finish().
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

// What goes before the bytes of a message.
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
    char* bytes = nullptr;  // null once its owner let go: the bytes still pass, from or to nowhere
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
    std::map<std::uint64_t, std::uint64_t> ready;        // receives that the other side started
    Queue sending;                                       // those that have a place there
    std::deque<std::uint64_t> notices;                   // not yet told
    std::shared_ptr<Message> arriving;
  };

  MatchedWire(int rank, int num_ranks, std::chrono::milliseconds timeout);

  virtual void wake() = 0;                   // the thread, from any other
  virtual bool is_gone(int peer) const = 0;  // called by those who wait
  Peer& peer(int other) { return peers_[static_cast<std::size_t>(other)]; }

  // Of the thread alone.
  bool take_new();  // false: the end
  void hear_notice(int other, std::uint64_t slot);
  void begin_arrival(int other, const MessageHead& head);
  void finish(Message& message, const std::string& complaint = {});
  void end_thread();  // take_new() says so

  std::mutex copying_;  // held while memory of messages is touched

 private:
  class MatchedParcel;
  std::unique_ptr<Parcel> start(char* bytes, std::size_t size, int other, std::uint64_t slot,
                                bool receives);
  static void match(Peer& peer, std::uint64_t slot);

  const int rank_;
  const std::chrono::milliseconds timeout_;
  std::vector<Peer> peers_;  // of the thread alone

  std::mutex mutex_;  // of what follows, and of `done` of messages
  std::condition_variable finished_;
  std::vector<std::shared_ptr<Message>> new_messages_;
  bool ending_ = false;
  bool aborted_ = false;
};

}  // namespace nereus::worker
