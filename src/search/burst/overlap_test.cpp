#include "search/burst/overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "search/burst/burst_testing.hpp"

namespace nereus::burst::overlap_test {
namespace {

constexpr int kBatch = 8;

Prices prices() {
  Prices own = deeppool_prices(266e9, 40e-6);
  own.overlap = 1;
  return own;
}

struct Price {
  double seconds = 0, rank_seconds = 0;
};

// Without the code under test: kernels and moves, what all sums are longer than all backward
// passes, and as great a share of the rank-seconds of sums.
class ByHand {
 public:
  ByHand(const std::vector<BlockCosts>& blocks, const std::vector<int>& counts) : counts_(counts) {
    Prices free = prices();
    free.sum = [](int, double) { return 0.0; };
    plain_ = make_problem(blocks, chain_of(static_cast<int>(blocks.size())), free, kBatch, counts);
    for (const BlockCosts& own : blocks) {
      auto& sums = sums_.emplace_back();
      auto& backward = backward_.emplace_back();
      for (const int count : counts) {
        sums.push_back(sum_seconds(own, prices(), count));
        backward.push_back(own.backward(samples_per_rank(kBatch, count)));
      }
    }
  }
  Price price(const std::vector<int>& candidates) const {
    double sums = 0, backward = 0, held = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto k = static_cast<std::size_t>(candidates[i]);
      sums += sums_[i][k];
      backward += backward_[i][k];
      held += sums_[i][k] * counts_[k];
    }
    const BurstPlan plan = evaluate(plain_, candidates);
    const double share = sums > backward ? 1 - backward / sums : 0;
    return {plan.seconds + share * sums, plan.rank_seconds + share * held};
  }
  // Of every plan there is.
  std::vector<Price> all() const {
    std::vector<Price> out;
    std::vector<int> candidates(sums_.size(), 0);
    for (std::size_t i = 0; i < candidates.size();) {
      out.push_back(price(candidates));
      for (i = 0; i < candidates.size() && ++candidates[i] == plain_.num_candidates(); ++i)
        candidates[i] = 0;
    }
    return out;
  }

 private:
  std::vector<int> counts_;
  Problem plain_;
  std::vector<std::vector<double>> sums_, backward_;
};

// How much dearer the best of the plans within a time is than the best there is, at worst.
double gap_to(const std::vector<Price>& all, const std::vector<BurstPlan>& plans) {
  double gap = 0;
  for (const BurstPlan& own : plans)
    for (const Price& other : all)
      if (other.seconds <= own.seconds * (1 + 1e-12))
        gap = std::max(gap, own.rank_seconds / other.rank_seconds - 1);
  return gap;
}

// Prices are the plan's own; the fastest plan is the best of all, or no further from it than the
// front says: far at times, where each of five blocks is much of the whole.
TEST(BurstOverlap, PlansExposeWhatTheirOwnCountsExpose) {
  int exact = 0, whole = 0, proven = 0;
  double worst = 1, worst_gap = 0;
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
      const Price expected = by_hand.price(candidates);
      EXPECT_NEAR(plan.seconds / expected.seconds, 1, 1e-12) << seed;
      EXPECT_NEAR(plan.rank_seconds / expected.rank_seconds, 1, 1e-12) << seed;
    }
    const std::vector<Price> all = by_hand.all();
    const double fastest = front.plans.front().seconds;
    double best = fastest;
    for (const Price& other : all) best = std::min(best, other.seconds);
    EXPECT_LE(fastest, best * (1 + front.time_gap.value()) * (1 + 1e-12)) << seed;
    exact += fastest <= best * (1 + 1e-12);
    worst = std::max(worst, fastest / best);
    const double gap = gap_to(all, front.plans);
    whole += gap < 1e-9;
    proven += front.is_proven;
    EXPECT_TRUE(!front.is_proven || gap < 1e-9) << seed;
    worst_gap = std::max(worst_gap, gap);
  }
  RecordProperty("exact", exact);
  RecordProperty("worst", std::to_string(worst));
  RecordProperty("whole", whole);
  RecordProperty("worst_gap", std::to_string(worst_gap));
  EXPECT_GT(proven, 0);  // where nothing is ever exposed
  EXPECT_GE(exact, 75);
  EXPECT_LE(worst, 1.1);
  EXPECT_GE(whole, 85);
  EXPECT_LE(worst_gap, 0.3);
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
    EXPECT_EQ(all[both.plans.front().blocks[i].candidate],
              some[second.plans.front().blocks[i].candidate]);
  for (const Front* own : {&first, &second})
    for (const BurstPlan& plan : own->plans)
      EXPECT_TRUE(std::any_of(both.plans.begin(), both.plans.end(), [&](const BurstPlan& other) {
        return other.seconds <= plan.seconds && other.rank_seconds <= plan.rank_seconds;
      }));
}

// Asked to end at once, or after a while: plans all the same, and the front says what it is.
TEST(BurstOverlap, EndsWhenAsked) {
  const std::vector<BlockCosts> blocks = some_blocks(5, 30);
  Overlapped own = make_overlapped(blocks, chain_of(30), prices(), 512, candidate_counts(512, 512));
  own.problem.num_ranks = own.problem.trunk_ranks = 512;
  const Front whole = solve(own);
  ASSERT_FALSE(whole.is_stopped);
  for (const int calls : {0, 100, 2000}) {
    std::atomic<int> left = calls;
    own.problem.stop = [&] { return left-- <= 0; };
    const Front front = solve(own);
    EXPECT_TRUE(front.is_stopped) << calls;
    EXPECT_FALSE(front.is_proven);
    ASSERT_FALSE(front.plans.empty());
    EXPECT_GE(front.plans.front().seconds, whole.plans.front().seconds * 0.9);
    ASSERT_FALSE(front.notes.empty());
    EXPECT_TRUE(front.notes.back().starts_with("stopped")) << front.notes.back();
  }
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
}  // namespace nereus::burst::overlap_test
