// Events by time, all of one time together: in a collective most events fall on few moments.
//
// A bucket per moment, a 4-ary heap of buckets, and a small table of the buckets used last, so that
// an event for a moment that is known costs no search. Buckets are used again: nothing is allocated
// once they have grown. Two buckets may have one moment; they come out one after the other.
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
  Picoseconds next() const { return heap_.front().time; }  // of the earliest bucket

  void push(Picoseconds time, QueuedEvent event) {
    int& recent = recent_[slot(time)];
    if (recent < 0 || buckets_[static_cast<std::size_t>(recent)].time != time) recent = open(time);
    buckets_[static_cast<std::size_t>(recent)].events.push_back(event);
  }

  // The events of the earliest bucket; valid until the next call.
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
