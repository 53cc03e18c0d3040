// Detects which ranks are alive, and which rank is to blame if an operation does not end. Ranks
// ping each other with datagrams on a separate thread: a process that died or was stopped does not
// answer, but one that is busy computing does.
//
// Nothing is sent in normal operation. Shortly before a wait of a rank times out (or when a
// connection breaks), the rank pings the others every `period`, and finds the missing rank in this
// order:
//   1. the rank that another rank already found missing (so all agree quickly);
//   2. a rank that did not answer for the length of `window`;
//   3. a rank that left the job, if this rank waits for it;
//   4. for a collective, the member that started the fewest operations of the group; for a message,
//      the other end. From that rank, the search follows the chain of "waits for" to a rank that
//      waits for no other.
// window = a third of the time-out, at most 3 s; period = a tenth of the window. So a stopped rank
// is already identified when the time-out ends, and the rank behind a broken connection is
// identified within `window`.
//
//   Liveness liveness(rank, num_ranks, own_address, timeout);
//   liveness.start(addresses);                         // liveness.address() of every rank
//   { Liveness::Wait wait(liveness, peer); parcel->wait(); }
//   Verdict verdict = liveness.find_missing({peer, slot, members});
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "worker/comm/datagram.hpp"

namespace nereus::worker {

struct Verdict {
  int missing_rank = -1;
  std::string reason;  // "shows no life for 3.0 s"
};

class Liveness {
 public:
  using Clock = std::chrono::steady_clock;

  Liveness(int rank, int num_ranks, const std::string& own_address,
           std::chrono::milliseconds timeout);
  ~Liveness();

  int rank() const { return rank_; }
  std::string address() const;  // must be passed to start() of every rank
  void start(const std::vector<std::string>& addresses);

  // An operation that waits for a peer. Two kinds of threads wait: the caller (the thread that uses
  // the Comm) and the threads of groups. Only the caller's waits decide which rank this rank waits
  // for.
  class Wait {
   public:
    Wait(Liveness& liveness, int peer);                      // for a thread of a group
    Wait(Liveness& liveness, const std::atomic<int>& peer);  // for the caller
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    struct Record;
    friend class Liveness;
    Liveness& liveness_;
    std::list<Record>::iterator record_;
  };

  // Counts one more operation of the group that was started on this rank.
  void count_operation(std::uint64_t slot);

  struct Failure {
    int peer = -1;  // the other end of the message that failed
    std::uint64_t slot = 0;
    std::vector<int> members = {};  // of the group; empty: a message failed
  };
  // Returns within about `window`, and tells the other ranks which rank is missing.
  Verdict find_missing(const Failure& failure);

  // Whether another rank has found a rank missing (not this one).
  bool knows_missing() const;

  // From now on find_missing() returns at once without a verdict, even if it is already searching.
  void stop_looking();

  // Tells the other ranks that this rank leaves. With `wait`, also waits until they leave too, but
  // at most for `window`.
  void leave(bool wait);

 private:
  struct Datagram;
  struct Peer {
    SocketAddress address;
    std::uint64_t token = 0;  // of the receiver: datagrams of other jobs are ignored
    std::optional<Clock::time_point> heard;
    bool left = false;
    int blames = -1;
    int waits_for = -1;
    std::map<std::uint64_t, std::uint64_t> num_started;  // by slot
  };

  void run();
  void receive_one(const Datagram& datagram);
  bool should_ask(Clock::time_point now) const;
  void send(int to, Datagram datagram);
  void send_to_all(const Datagram& datagram);
  int waits_for() const;
  std::optional<Verdict> verdict_now(const Failure& failure, bool last) const;
  std::optional<int> blamed() const;
  Clock::duration quiet_time(int rank, Clock::time_point now) const;  // since it was first asked
  int follow_waits(int from) const;

  const int rank_;
  const std::string own_address_;
  const std::chrono::milliseconds timeout_, window_, period_;
  const std::uint64_t token_;
  DatagramSocket socket_;

  mutable std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<Peer> peers_;
  std::list<Wait::Record> waits_;
  std::map<std::uint64_t, std::uint64_t> num_started_;
  std::uint64_t asked_slot_ = 0;
  int num_searches_ = 0;  // find_missing() calls in progress
  std::optional<Clock::time_point> asking_since_;
  std::optional<Verdict> verdict_;  // the first; later failures follow from it
  bool ending_ = false;
  std::thread thread_;
};

struct Liveness::Wait::Record {
  Clock::time_point since;
  int peer = -1;
  const std::atomic<int>* callers_peer = nullptr;  // only set for the caller's waits
};

}  // namespace nereus::worker
