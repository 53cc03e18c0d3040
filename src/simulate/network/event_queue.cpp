#include "simulate/network/event_queue.hpp"

#include <algorithm>
#include <utility>

namespace nereus::simulate {

int EventQueue::open(Picoseconds time) {
  int number = static_cast<int>(buckets_.size());
  if (free_.empty()) {
    buckets_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  buckets_[number].time = time;
  heap_.push_back({time, number});
  sift_up(heap_.size() - 1);
  return number;
}

const std::vector<QueuedEvent>& EventQueue::take() {
  const Entry first = heap_.front();
  Bucket& bucket = buckets_[first.bucket];
  taken_.clear();
  std::swap(taken_, bucket.events);
  bucket.time = -1;
  free_.push_back(first.bucket);
  heap_.front() = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0);
  return taken_;
}

void EventQueue::sift_up(std::size_t at) {
  const Entry entry = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 4;
    if (heap_[parent].time <= entry.time) break;
    heap_[at] = heap_[parent];
    at = parent;
  }
  heap_[at] = entry;
}

void EventQueue::sift_down(std::size_t at) {
  const Entry entry = heap_[at];
  while (true) {
    const std::size_t first = 4 * at + 1;
    if (first >= heap_.size()) break;
    const std::size_t end = std::min(first + 4, heap_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child)
      if (heap_[child].time < heap_[least].time) least = child;
    if (heap_[least].time >= entry.time) break;
    heap_[at] = heap_[least];
    at = least;
  }
  heap_[at] = entry;
}

}  // namespace nereus::simulate
