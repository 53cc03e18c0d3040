// Checks, on any backend, what NCCL needs of a plan: that both ends of a lane start its messages in
// the same order, that every message has a lane, and that both ends know the lane.
//
//   LaneBook book;                              // of all ranks, which are threads
//   LaneComm comm(*comms[rank], book);          // on each rank, instead of its Comm
//   book.check();                               // after the steps; throws std::runtime_error
#pragma once

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "worker/comm/through_comm.hpp"

namespace nereus::worker::testing {

class LaneBook {
 public:
  void know(int rank, const std::vector<Lane>& lanes) {
    const std::lock_guard lock(mutex_);
    for (const Lane& lane : lanes) {
      Ends& ends = lanes_[to_string(lane)];
      ends.lane = lane;
      (rank == lane.from ? ends.sender_knows : ends.receiver_knows) = true;
    }
  }
  void note(const std::vector<Lane>& lanes, int from, int to, std::int64_t tag, bool sends) {
    const auto at = lane_of(lanes, from, to, tag);
    if (!at) throw std::runtime_error(fmt::format("tag {} from {} to {}: no lane", tag, from, to));
    const std::lock_guard lock(mutex_);
    Ends& ends = lanes_[to_string(lanes[*at])];
    (sends ? ends.sent : ends.received).push_back(tag);
  }
  void check() const {
    for (const auto& [name, ends] : lanes_) {
      if (!ends.sender_knows || !ends.receiver_knows)
        throw std::runtime_error("lane " + name + " is known to one end");
      if (ends.sent != ends.received)
        throw std::runtime_error("lane " + name + ": the ends differ in order");
    }
  }
  std::size_t num_messages() const {
    std::size_t count = 0;
    for (const auto& [name, ends] : lanes_) count += ends.sent.size();
    return count;
  }

 private:
  struct Ends {
    Lane lane{};
    bool sender_knows = false, receiver_knows = false;
    std::vector<std::int64_t> sent, received;
  };
  std::mutex mutex_;
  std::map<std::string, Ends> lanes_;
};

class LaneComm : public ThroughComm {
 public:
  LaneComm(Comm& real, LaneBook& book) : ThroughComm(real), book_(book) {}
  void connect(const std::vector<Lane>& lanes) override {
    lanes_ = lanes;
    book_.know(rank(), lanes);
    real_.connect(lanes);
  }
  Handle send(at::Tensor tensor, int to, std::int64_t tag) override {
    book_.note(lanes_, rank(), to, tag, true);
    return real_.send(std::move(tensor), to, tag);
  }
  Handle receive(at::Tensor tensor, int from, std::int64_t tag) override {
    book_.note(lanes_, from, rank(), tag, false);
    return real_.receive(std::move(tensor), from, tag);
  }
  std::shared_ptr<Group> group(const std::vector<int>& ranks) override {
    return real_.group(ranks);
  }

 private:
  LaneBook& book_;
  std::vector<Lane> lanes_;
};

}  // namespace nereus::worker::testing
