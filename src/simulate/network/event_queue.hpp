// A queue of events that returns all events with the same time together: in a collective, most
// events happen at few distinct times.
//
// Events with the same time share a bucket. Buckets are in a 4-ary heap, and a small table of
// recently used buckets finds the bucket of a time without a search. If the table no longer has
// that bucket, a second bucket gets the same time; the two are then returned one after the other.
// Buckets are reused: once they have grown, nothing is allocated.
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
