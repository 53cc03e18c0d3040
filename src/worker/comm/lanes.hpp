// The ways that messages take where a backend matches messages by order instead of by tag (NCCL).
//
// A lane is one direction between two ranks, for the messages with a range of tags: for example the
// values that stage 3 reads, or the gradients that it gives back. Each lane has a connection and a
// stream of its own, so that a message waits only for earlier messages of its lane.
//
// Order. Connecting a pair of ranks blocks both of them. build_order() is one total order of all
// lanes of a job, and every rank connects its own lanes in this order. Of the lanes that are not
// connected yet, the first in the order has both ends waiting at it: so the next connection is
// always made, whatever lanes there are. Neighbors are connected in two rounds (even and odd), so
// that a long pipeline does not connect one pair after the other.
//
//   std::vector<Lane> lanes = in_build_order(mine);
//   std::optional<std::size_t> at = lane_of(lanes, from, to, tag);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nereus::worker {

struct Lane {
  int from = 0;
  int to = 0;
  std::int64_t first_tag = 0;
  std::int64_t end_tag = 0;  // first_tag <= tag < end_tag
  bool operator==(const Lane&) const = default;
};

// Without duplicates. The order of two lanes depends on nothing but the two.
std::vector<Lane> in_build_order(std::vector<Lane> lanes);

// The lane of a message; the ranges of lanes between the same ranks must not overlap.
std::optional<std::size_t> lane_of(const std::vector<Lane>& lanes, int from, int to,
                                   std::int64_t tag);

std::string to_string(const Lane& lane);  // "2>3/96": the same on both ends, and of no other lane

}  // namespace nereus::worker
