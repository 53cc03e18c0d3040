#include "worker/comm/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace nereus::worker {
namespace {

using Order = std::vector<Lane>;

// Each rank connects its lanes in the order given; a lane is connected when both ends are at it.
// Returns the number of rounds until all are, or -1 if none can be connected any more.
int rounds_to_connect(std::vector<Order> ranks) {
  int rounds = 0;
  const auto left = [&] {
    return std::any_of(ranks.begin(), ranks.end(), [](const Order& own) { return !own.empty(); });
  };
  for (; left(); ++rounds) {
    std::vector<Lane> ready;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].empty()) continue;
      const Lane lane = ranks[rank].front();
      const std::size_t other =
          static_cast<std::size_t>(static_cast<int>(rank) == lane.from ? lane.to : lane.from);
      if (!ranks[other].empty() && ranks[other].front() == lane) ready.push_back(lane);
    }
    if (ready.empty()) return -1;
    for (Order& own : ranks)
      if (!own.empty() && std::find(ready.begin(), ready.end(), own.front()) != ready.end())
        own.erase(own.begin());
  }
  return rounds;
}

std::vector<Order> by_rank(const std::vector<Lane>& lanes, int num_ranks) {
  std::vector<Order> ranks(static_cast<std::size_t>(num_ranks));
  for (const Lane& lane : lanes) {
    ranks[static_cast<std::size_t>(lane.from)].push_back(lane);
    ranks[static_cast<std::size_t>(lane.to)].push_back(lane);
  }
  return ranks;
}

TEST(Lanes, AnyLanesAreConnectedInTheBuildOrder) {
  std::mt19937 random(7);
  int stopped = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int num_ranks = 2 + static_cast<int>(random() % 9);
    std::vector<Lane> lanes;
    for (int i = 0; i < 3 * num_ranks; ++i) {
      const int from = static_cast<int>(random() % static_cast<unsigned>(num_ranks));
      const int to = static_cast<int>(random() % static_cast<unsigned>(num_ranks));
      const std::int64_t tag = 10 * static_cast<std::int64_t>(random() % 3);
      if (from != to) lanes.push_back({from, to, tag, tag + 10});
    }
    std::vector<Order> ranks = by_rank(in_build_order(lanes), num_ranks);
    for (Order& own : ranks) {  // each rank orders what it knows, which is its own lanes
      std::shuffle(own.begin(), own.end(), random);
      if (rounds_to_connect({ranks}) < 0) ++stopped;
      own = in_build_order(own);
    }
    EXPECT_GE(rounds_to_connect(ranks), 0);
  }
  EXPECT_GT(stopped, 100);  // in other orders they wait for each other
}

TEST(Lanes, ALongPipelineIsConnectedInFourRounds) {
  std::vector<Lane> lanes;
  for (int rank = 0; rank + 1 < 64; ++rank) {
    lanes.push_back({rank, rank + 1, 0, 8});
    lanes.push_back({rank + 1, rank, 8, 16});
  }
  EXPECT_EQ(rounds_to_connect(by_rank(in_build_order(lanes), 64)), 4);
}

TEST(Lanes, AMessageIsOnTheLaneOfItsTagAndDirection) {
  const std::vector<Lane> lanes =
      in_build_order({{0, 1, 0, 8}, {0, 1, 8, 16}, {1, 0, 0, 8}, {0, 1, 0, 8}});
  ASSERT_EQ(lanes.size(), 3U);
  EXPECT_EQ(lanes[*lane_of(lanes, 0, 1, 7)], (Lane{0, 1, 0, 8}));
  EXPECT_EQ(lanes[*lane_of(lanes, 0, 1, 8)], (Lane{0, 1, 8, 16}));
  EXPECT_EQ(lanes[*lane_of(lanes, 1, 0, 0)], (Lane{1, 0, 0, 8}));
  EXPECT_FALSE(lane_of(lanes, 0, 1, 16));
  EXPECT_FALSE(lane_of(lanes, 1, 0, 9));
  EXPECT_NE(to_string(lanes[0]), to_string(lanes[1]));
}

}  // namespace
}  // namespace nereus::worker
