// Collectives of a group as messages around a ring. They are bandwidth-optimal: every member sends
// and receives (n-1)/n of the bytes once for a reduce-scatter and once for an all-gather (Patarasuk
// and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).
//
// Reduce-scatter: the partial sum of block b starts at member b+1 and travels around to member b,
// which then holds the whole sum: ((x[b+1] + x[b+2]) + ...) + x[b]. The order is fixed, so the
// result is the same to the bit every time. All-gather: block b starts at member b and travels
// around. All-reduce: a reduce-scatter and an all-gather of n nearly equal blocks; each block is
// summed by one member, so all members have the same bits.
//
// Blocks are sent in chunks: a chunk is added and sent on while the next ones arrive. All messages
// of a ring use one slot, in an order that both ends know. So ranges may be uneven or empty.
//
//   Ring ring{wire, members, index, slot, landing};
//   ring_reduce_scatter(ring, data, Element::kFloat32, 4, ranges);   // returns when done
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "worker/comm/combine.hpp"
#include "worker/comm/range.hpp"
#include "worker/comm/wire.hpp"

namespace nereus::worker {

using Combine = void (*)(Element, void* into, const void* from, std::size_t count);

// Memory for received chunks until they are added to the sum. It is kept between collectives,
// because the first access to fresh memory takes as long as the copy.
class Landing {
 public:
  char* at_least(std::size_t bytes);

 private:
  std::unique_ptr<char[]> memory_;
  std::size_t bytes_ = 0;
};

struct Ring {
  Wire& wire;
  const std::vector<int>& members;
  int index;  // of this rank in `members`
  std::uint64_t slot;
  Landing& landing;
  // Waits for a parcel of a peer; may record which peer is waited for.
  std::function<void(Parcel&, int peer)> wait = [](Parcel& parcel, int) { parcel.wait(); };
  std::size_t chunk_bytes = 2 << 20;
};

// The elements that `data` points to, all of one type.
struct Elements {
  void* data = nullptr;
  Element type = Element::kFloat32;
  std::size_t bytes_each = 4;
};

void ring_reduce_scatter(const Ring& ring, const Elements& flat, std::span<const Range> ranges,
                         Combine combine);
void ring_all_gather(const Ring& ring, const Elements& flat, std::span<const Range> ranges);
void ring_all_reduce(const Ring& ring, const Elements& flat, std::int64_t count, Combine combine);

// Divides [0, count) into `parts` ranges whose sizes differ by at most one.
std::vector<Range> even_ranges(std::int64_t count, int parts);

}  // namespace nereus::worker
