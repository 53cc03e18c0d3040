#include "search/burst/overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "search/burst/testing.hpp"

namespace nereus::burst {
namespace {

constexpr int kBatch = 8;

Prices prices() {
  Prices own = deeppool_prices(266e9, 40e-6);
  own.overlap = 1;
  return own;
}

// Without the code under test: kernels and moves, and what all sums are longer than all backward
// passes.
class ByHand {
 public:
  ByHand(const std::vector<BlockCosts>& blocks, const std::vector<int>& counts) {
    Prices free = prices();
    free.sum = [](int, double) { return 0.0; };
    plain_ = make_problem(blocks, chain_of(static_cast<int>(blocks.size())), free, kBatch, counts);
    for (const BlockCosts& own : blocks) {
      auto& of_block = exposed_.emplace_back();
      for (const int count : counts)
        of_block.push_back(sum_seconds(own, prices(), count) -
                           own.backward(samples_per_rank(kBatch, count)));
    }
  }
  double seconds(const std::vector<int>& candidates) const {
    double exposed = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      exposed += exposed_[i][static_cast<std::size_t>(candidates[i])];
    return evaluate(plain_, candidates).seconds + std::max(0.0, exposed);
  }

 private:
  Problem plain_;
  std::vector<std::vector<double>> exposed_;
};

// Prices are the plan's own; the fastest plan is the best of all, or no further from it than the
// front says: far at times, where each of five blocks is much of the whole.
TEST(BurstOverlap, PlansExposeWhatTheirOwnCountsExpose) {
  int exact = 0;
  double worst = 1;
  constexpr int kCases = 100, kBlocks = 5;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const std::vector<BlockCosts> blocks = some_blocks(seed, kBlocks);
    const std::vector<int> counts = candidate_counts(kBatch, 8);
    Overlapped own = make_overlapped(blocks, chain_of(kBlocks), prices(), kBatch, counts);
    own.problem.num_ranks = own.problem.trunk_ranks = 8;
    const Front front = solve(own);
    const ByHand by_hand(blocks, counts);
    ASSERT_FALSE(front.plans.empty());
    for (const BurstPlan& plan : front.plans) {
      std::vector<int> candidates;
      for (const BlockPlace& place : plan.blocks) candidates.push_back(place.candidate);
      EXPECT_NEAR(plan.seconds / by_hand.seconds(candidates), 1, 1e-12) << seed;
    }
    double best = front.plans.front().seconds;
    const int k = static_cast<int>(counts.size());
    int all = 1;
    for (int i = 0; i < kBlocks; ++i) all *= k;
    for (int number = 0; number < all; ++number) {
      std::vector<int> candidates;
      for (int i = 0, left = number; i < kBlocks; ++i, left /= k) candidates.push_back(left % k);
      best = std::min(best, by_hand.seconds(candidates));
    }
    EXPECT_LE(front.plans.front().seconds, best * (1 + front.time_gap.value()) * (1 + 1e-12))
        << seed;
    exact += front.plans.front().seconds <= best * (1 + 1e-12);
    worst = std::max(worst, front.plans.front().seconds / best);
  }
  RecordProperty("exact", exact);
  RecordProperty("worst", std::to_string(worst));
  EXPECT_GE(exact, kCases / 5);
  EXPECT_LE(worst, 1.2);
}

// Half of the ranks, whose sums are cheap: what is best of both, by the first's numbers.
TEST(BurstOverlap, TheBestOfSeveralSizes) {
  const std::vector<BlockCosts> blocks = some_blocks(3, 5);
  const std::vector<int> all = candidate_counts(kBatch, 8), some = {1, 4};
  Prices cheap = prices();
  cheap.sum = [](int count, double bytes) { return 0.1 * prices().sum(count, bytes); };
  std::vector<Overlapped> problems = {make_overlapped(blocks, chain_of(5), prices(), kBatch, all),
                                      make_overlapped(blocks, chain_of(5), cheap, kBatch, some)};
  for (Overlapped& own : problems)
    own.problem.num_ranks = own.problem.trunk_ranks = own.problem.counts.back();
  problems[1].is_some = true;
  const Front first = solve(problems[0]), second = solve(problems[1]), both = solve(problems);
  ASSERT_LT(second.plans.front().seconds, first.plans.front().seconds);
  EXPECT_EQ(both.plans.front().seconds, second.plans.front().seconds);
  EXPECT_FALSE(both.time_gap);  // what lies between was not looked at
  for (std::size_t i = 0; i < blocks.size(); ++i)
    EXPECT_EQ(all[static_cast<std::size_t>(both.plans.front().blocks[i].candidate)],
              some[static_cast<std::size_t>(second.plans.front().blocks[i].candidate)]);
  for (const Front* own : {&first, &second})
    for (const BurstPlan& plan : own->plans)
      EXPECT_TRUE(std::any_of(both.plans.begin(), both.plans.end(), [&](const BurstPlan& other) {
        return other.seconds <= plan.seconds && other.rank_seconds <= plan.rank_seconds;
      }));
}

TEST(BurstCounts, SomeOfMany) {
  const std::vector<int> counts = candidate_counts(1024, 1024);
  EXPECT_EQ(some_counts(counts, 64, 4), (std::vector<int>{1, 2, 3, 4, 8, 16, 32, 64}));
  EXPECT_EQ(some_counts(counts, 12, 1).size(), 12U);  // few
  EXPECT_EQ(some_counts(candidate_counts(100, 100), 60, 1),
            (std::vector<int>{1, 2, 4, 8, 15, 25, 50}));
}

// A few ranks with much to sum would hide it behind their own passes, were all layers theirs.
TEST(BurstOverlap, FewRanksDoNotHideBehindPassesThatOthersHaveShortened) {
  std::vector<BlockCosts> blocks = some_blocks(1, 4);
  for (BlockCosts& own : blocks) own.gradient_bytes = 0;
  blocks[3].gradient_bytes = 1e9;  // 7.5 ms to sum over all, and hardly less over two
  blocks[3].seconds = [](int samples) { return 1e-5 * samples; };
  blocks[3].backward = [](int samples) { return 6e-6 * samples; };
  const std::vector<int> counts = candidate_counts(kBatch, 8);
  Overlapped own = make_overlapped(blocks, chain_of(4), prices(), kBatch, counts);
  own.problem.num_ranks = own.problem.trunk_ranks = 8;
  const Front front = solve(own);
  EXPECT_EQ(front.plans.front().blocks[3].candidate, 0);
}

}  // namespace
}  // namespace nereus::burst
