// A queue of events that returns all events with the same time together: in a collective, most
// events happen at few distinct times.
//
// It has one bucket per time, a 4-ary heap of buckets, and a small table of recently used buckets,
// so that an event at a known time needs no search. Buckets are reused: once they have grown,
// nothing is allocated. Two buckets may have the same time; they are returned one after the other.
//
//   EventQueue queue;
//   queue.push(500, {.what = 3});
//   const Picoseconds now = queue.next();
//   for (const QueuedEvent& event : queue.take()) ...
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace nereus::simulate {

using Picoseconds = std::int64_t;

struct QueuedEvent {
  int what = 0;
  std::int32_t version = 0;
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  Picoseconds next() const { return heap_.front().time; }  // time of the earliest bucket

  void push(Picoseconds time, QueuedEvent event) {
    int& recent = recent_[slot(time)];
    if (recent < 0 || buckets_[recent].time != time) recent = open(time);
    buckets_[recent].events.push_back(event);
  }

  // Removes and returns the events of the earliest bucket; valid until the next call.
  const std::vector<QueuedEvent>& take();

 private:
  struct Bucket {
    Picoseconds time = -1;
    std::vector<QueuedEvent> events;
  };
  struct Entry {
    Picoseconds time = 0;
    int bucket = 0;
  };
  static constexpr std::size_t kRecent = 256;

  static std::size_t slot(Picoseconds time) {
    return (static_cast<std::uint64_t>(time) * 0x9E3779B97F4A7C15u) >> 56;  // 8 bits
  }
  int open(Picoseconds time);
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);

  std::vector<Bucket> buckets_;
  std::vector<int> free_;
  std::vector<Entry> heap_;
  std::array<int, kRecent> recent_ = [] {
    std::array<int, kRecent> none{};
    none.fill(-1);
    return none;
  }();
  std::vector<QueuedEvent> taken_;
};

}  // namespace nereus::simulate
