// The only thread of a rank that uses its link: it sends the messages of other threads, forwards
// incoming messages, sends a heartbeat regularly, and measures how long each rank has been silent.
//
//   Courier courier(link, {0}, 1.0, on_message, on_tick);
//   courier.send(0, Writer(Kind::kHello).text(build).take());      // from any thread
//   if (courier.silence_s(0) > 60) ...
//
// It sleeps between polls of the link (0.2 ms after traffic, growing to 2 ms), because a blocking
// MPI call would spin on a core. `on_message` and `on_tick` (after every poll) run on this thread.
// Silence is measured in the courier's steps of at most 0.1 s, so that a program that was suspended
// (Ctrl-Z, a paused virtual machine) does not consider all other ranks dead when it continues.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "spread/link.hpp"

namespace nereus::spread {

class Courier {
 public:
  using OnMessage = std::function<void(int from, const std::string& bytes)>;

  Courier(Link& link, std::vector<int> peers, double alive_every_s, OnMessage on_message,
          std::function<void()> on_tick);
  ~Courier() { stop(); }
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  void start();  // not in the constructor, because the owner's members must be initialized first
  void stop();   // drops unsent messages
  void send(int to, std::string bytes);
  void wake();  // tick now
  double silence_s(int rank) const;
  std::size_t num_pending(int rank);  // unsent messages to that rank

  // Rethrows what on_message or on_tick threw, if anything; the courier has ended then.
  void rethrow_failure() const;
  bool failed() const;

 private:
  struct Letter {
    int to = 0;
    std::string bytes;
  };

  void loop();
  bool look();
  void give_signs_of_life();
  void count_silence();

  Link& link_;
  const std::vector<int> peers_;
  const double alive_every_s_;
  const OnMessage on_message_;
  const std::function<void()> on_tick_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Letter> outbox_;
  bool woken_ = false;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<std::size_t> pending_;  // in the link, at its last poll

  std::unique_ptr<std::atomic<double>[]> silence_s_;
  double since_alive_s_ = 0;
  double last_s_ = 0;
  std::thread thread_;
};

}  // namespace nereus::spread
