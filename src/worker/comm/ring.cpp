#include "worker/comm/ring.hpp"

#include <algorithm>
#include <deque>
#include <memory>

namespace nereus::worker {
namespace {

// How many receives run ahead of the additions: one arrives while the other is added.
constexpr std::size_t kChunksAhead = 2;

// One chunk of the block that arrives or leaves at a step of the ring.
struct Chunk {
  char* data = nullptr;
  std::size_t count = 0;
  std::size_t bytes = 0;
};

std::vector<Chunk> chunks_of(const Ring& ring, const Elements& flat, const Range& range) {
  const auto per_chunk =
      static_cast<std::int64_t>(std::max<std::size_t>(1, ring.chunk_bytes / flat.bytes_each));
  std::vector<Chunk> chunks;
  for (std::int64_t at = range.begin; at < range.end; at += per_chunk) {
    const auto count = static_cast<std::size_t>(std::min(per_chunk, range.end - at));
    chunks.push_back(
        {static_cast<char*>(flat.data) + static_cast<std::size_t>(at) * flat.bytes_each, count,
         count * flat.bytes_each});
  }
  return chunks;
}

// Chunks of the blocks that member `index` handles, from block `first` downwards round the ring.
std::vector<std::vector<Chunk>> steps_of(const Ring& ring, const Elements& flat,
                                         std::span<const Range> ranges, int first) {
  const int n = static_cast<int>(ring.members.size());
  std::vector<std::vector<Chunk>> steps;
  for (int step = 0; step < n - 1; ++step)
    steps.push_back(chunks_of(ring, flat, ranges[(first - step + 2 * n) % n]));
  return steps;
}

struct Neighbours {
  int left = 0;
  int right = 0;
};

Neighbours neighbours(const Ring& ring) {
  const std::size_t n = ring.members.size(), i = static_cast<std::size_t>(ring.index);
  return {ring.members[(i + n - 1) % n], ring.members[(i + 1) % n]};
}

using Parcels = std::vector<std::unique_ptr<Parcel>>;

void wait_all(const Ring& ring, Parcels& parcels, int peer) {
  for (auto& parcel : parcels) ring.wait(*parcel, peer);
}

}  // namespace

char* Landing::at_least(std::size_t bytes) {
  if (bytes_ < bytes) {
    memory_ = std::make_unique_for_overwrite<char[]>(bytes);
    bytes_ = bytes;
  }
  return memory_.get();
}

void ring_reduce_scatter(const Ring& ring, const Elements& flat, std::span<const Range> ranges,
                         Combine combine) {
  const int n = static_cast<int>(ring.members.size());
  if (n == 1) return;
  const auto [left, right] = neighbours(ring);
  // At step s block index-1-s leaves and block index-2-s arrives; what arrived leaves a step later.
  const auto arriving = steps_of(ring, flat, ranges, ring.index - 2);
  std::vector<std::pair<Chunk, bool>> queue;  // all that arrives, and whether it is sent on
  std::size_t largest = 0;
  for (int step = 0; step < n - 1; ++step)
    for (const Chunk& chunk : arriving[step]) {
      queue.push_back({chunk, step < n - 2});
      largest = std::max(largest, chunk.bytes);
    }

  char* landing = ring.landing.at_least(largest * kChunksAhead);
  Parcels sent, received(queue.size());
  const auto slot_of = [&](std::size_t i) { return landing + (i % kChunksAhead) * largest; };
  const auto start_receive = [&](std::size_t i) {
    if (i < queue.size())
      received[i] = ring.wire.receive(slot_of(i), queue[i].first.bytes, left, ring.slot);
  };
  for (std::size_t i = 0; i < kChunksAhead; ++i) start_receive(i);
  const Range& first = ranges[(ring.index - 1 + n) % n];
  for (const Chunk& chunk : chunks_of(ring, flat, first))
    sent.push_back(ring.wire.send(chunk.data, chunk.bytes, right, ring.slot));
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto& [chunk, sent_on] = queue[i];
    ring.wait(*received[i], left);
    combine(flat.type, chunk.data, slot_of(i), chunk.count);
    received[i].reset();
    start_receive(i + kChunksAhead);
    if (sent_on) sent.push_back(ring.wire.send(chunk.data, chunk.bytes, right, ring.slot));
  }
  wait_all(ring, sent, right);
}

void ring_all_gather(const Ring& ring, const Elements& flat, std::span<const Range> ranges) {
  const int n = static_cast<int>(ring.members.size());
  if (n == 1) return;
  const auto [left, right] = neighbours(ring);
  // At step s block index-s leaves and block index-1-s arrives, in its place.
  const auto arriving = steps_of(ring, flat, ranges, ring.index - 1);
  std::deque<std::unique_ptr<Parcel>> received;
  for (const auto& step : arriving)
    for (const Chunk& chunk : step)
      received.push_back(ring.wire.receive(chunk.data, chunk.bytes, left, ring.slot));
  Parcels sent;
  for (const Chunk& chunk : chunks_of(ring, flat, ranges[ring.index]))
    sent.push_back(ring.wire.send(chunk.data, chunk.bytes, right, ring.slot));
  for (int step = 0; step < n - 1; ++step)
    for (const Chunk& chunk : arriving[step]) {
      ring.wait(*received.front(), left);
      received.pop_front();
      if (step < n - 2) sent.push_back(ring.wire.send(chunk.data, chunk.bytes, right, ring.slot));
    }
  wait_all(ring, sent, right);
}

void ring_all_reduce(const Ring& ring, const Elements& flat, std::int64_t count, Combine combine) {
  const auto ranges = even_ranges(count, static_cast<int>(ring.members.size()));
  ring_reduce_scatter(ring, flat, ranges, combine);
  ring_all_gather(ring, flat, ranges);
}

std::vector<Range> even_ranges(std::int64_t count, int parts) {
  std::vector<Range> ranges;
  for (std::int64_t i = 0; i < parts; ++i)
    ranges.push_back({count * i / parts, count * (i + 1) / parts});
  return ranges;
}

}  // namespace nereus::worker
