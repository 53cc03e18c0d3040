// Who shows life, and who is to blame when an operation does not end. Ranks ask each other by
// datagrams, each on a thread that does nothing else: a process that died or was stopped answers
// nothing, one that merely computes does.
//
// Nothing is sent while all goes well. A rank begins to ask shortly before a wait of its own times
// out (or when a connection broke), every `period`, and finds the missing rank in this order:
//   1. the rank that another one already found missing (blame spreads at once);
//   2. the rank that answered nothing for the length of `window`;
//   3. the rank that left the job, if it is waited for;
//   4. of a collective the member that started the fewest operations of the group, of a message the
//      other end; and from there on along "waits for", to the rank that waits for nobody.
// window = a third of the time-out, 3 s at most; period = a tenth of the window. So a stopped rank
// is named when the time-out ends, a broken connection is explained within `window`.
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
  std::string address() const;  // to be handed to start() of every rank
  void start(const std::vector<std::string>& addresses);

  // An operation that waits for a peer. The caller's own waits (not those of a group's thread) say
  // what the rank as a whole waits for.
  class Wait {
   public:
    Wait(Liveness& liveness, int peer);                      // of a thread of a group
    Wait(Liveness& liveness, const std::atomic<int>& peer);  // of the caller
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    struct Record;
    friend class Liveness;
    Liveness& liveness_;
    std::list<Record>::iterator record_;
  };

  // One more operation of the group was started here.
  void count_operation(std::uint64_t slot);

  struct Failure {
    int peer = -1;  // the other end of the message that failed
    std::uint64_t slot = 0;
    std::vector<int> members = {};  // of the group; empty: a message
  };
  // Ends within about `window`; tells the others.
  Verdict find_missing(const Failure& failure);

  // From now on find_missing() knows nobody, at once; also where it looks already.
  void stop_looking();

  // Says good-bye, and waits (or not) for that of the others, `window` at most.
  void leave(bool wait);

 private:
  struct Datagram;
  struct Peer {
    SocketAddress address;
    std::uint64_t token = 0;  // of the receiver: datagrams of other jobs are not for us
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
  int num_searches_ = 0;  // find_missing() calls under way
  std::optional<Clock::time_point> asking_since_;
  std::optional<Verdict> verdict_;  // the first; later failures follow from it
  bool ending_ = false;
  std::thread thread_;
};

struct Liveness::Wait::Record {
  Clock::time_point since;
  int peer = -1;
  const std::atomic<int>* callers_peer = nullptr;  // set for the caller's own
};

}  // namespace nereus::worker
