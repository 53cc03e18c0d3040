#include "data/sample_source.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "data/synthetic.hpp"
#include "data/token_writer.hpp"

namespace nereus::data::sample_source_test {
namespace {

using nereus::testing::codes_of;
using ::testing::ElementsAre;

RC_GTEST_PROP(Permutation, TakesEveryIndexOnce, (std::uint64_t seed)) {
  const std::uint64_t count = *rc::gen::inRange<std::uint64_t>(1, 3000);
  const Permutation permutation(count, seed);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < count; ++i) {
    RC_ASSERT(permutation(i) < count);
    seen.insert(permutation(i));
  }
  RC_ASSERT(seen.size() == count);
}

TEST(Permutation, WorksOnTheLargestCounts) {
  for (const std::uint64_t count : {(std::uint64_t{1} << 62) + 1, ~std::uint64_t{0}}) {
    const Permutation permutation(count, 5);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(permutation(count - 1 - i));
    EXPECT_EQ(seen.size(), 1000U);
  }
}

TEST(Permutation, PutsEveryIndexAnywhere) {
  // Over many seeds the place of an index is uniform: chi-squared with 9 degrees of freedom is
  // below 33.7 but for one case in ten thousand.
  constexpr int kCount = 10, kSeeds = 20000;
  for (std::uint64_t index : {0, 7}) {
    int places[kCount] = {};
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) ++places[Permutation(kCount, seed)(index)];
    double chi_squared = 0;
    for (const int count : places)
      chi_squared += std::pow(count - kSeeds / 10.0, 2) / (kSeeds / 10.0);
    EXPECT_LT(chi_squared, 33.7) << index;
  }
}

// Tokens 0, 1, 2, ... so that a sample tells where it comes from.
TokenFile counting_file(const TemporaryFolder& folder, std::uint32_t count) {
  TokenWriter writer(folder / "count.tokens", {.vocabulary = 100000});
  for (std::uint32_t i = 0; i < count; ++i) writer.add({&i, 1});
  writer.end_document();
  writer.finish(0);
  return TokenFile::open(folder / "count.tokens");
}

RC_GTEST_PROP(TokenFileSamples, EveryEpochTakesEveryTargetOnce,
              (std::uint64_t seed, bool shuffle)) {
  const std::int64_t seq = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto count = *rc::gen::inRange<std::uint32_t>(static_cast<std::uint32_t>(seq) + 1, 200);
  const TemporaryFolder folder;
  const TokenFileSamples samples(counting_file(folder, count), seq, 100000,
                                 {.seed = seed, .shuffle = shuffle});
  const std::uint64_t windows = samples.samples_per_epoch();
  RC_ASSERT(windows == (count - 1) / static_cast<std::uint64_t>(seq));
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(seq) + 1);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<std::int64_t> targets;
    for (std::uint64_t i = 0; i < windows; ++i) {
      samples.read(epoch * windows + i, {.tokens = tokens});
      for (std::size_t j = 1; j < tokens.size(); ++j) {
        RC_ASSERT(tokens[j] == tokens[j - 1] + 1);
        targets.insert(tokens[j]);
      }
      if (!shuffle) RC_ASSERT(tokens[0] == static_cast<std::int64_t>(i) * seq);
    }
    RC_ASSERT(targets.size() == windows * static_cast<std::uint64_t>(seq));
    RC_ASSERT(*targets.begin() == 1);
  }
}

TEST(TokenFileSamples, OrdersDifferByEpochAndSeedAlone) {
  const auto order = [](std::uint64_t seed, std::uint64_t epoch) {
    std::vector<std::uint64_t> items;
    for (std::uint64_t i = 0; i < 100; ++i)
      items.push_back(item_of_sample(epoch * 100 + i, 100, {.seed = seed}));
    return items;
  };
  EXPECT_EQ(order(1, 0), order(1, 0));
  EXPECT_NE(order(1, 0), order(1, 1));
  EXPECT_NE(order(1, 0), order(2, 0));
  // Fixed: a run that is resumed by a later version must go on with the same samples.
  EXPECT_EQ(item_of_sample(0, 1000, {.seed = 1}), 884U);
  EXPECT_EQ(item_of_sample(1, 1000, {.seed = 1}), 608U);
  EXPECT_EQ(item_of_sample(123456, 1000, {.seed = 1}), 689U);
}

TEST(TokenFileSamples, RefusesTokensThatTheModelDoesNotKnow) {
  const TemporaryFolder folder;
  EXPECT_THAT(codes_of([&] { TokenFileSamples(counting_file(folder, 50), 50, 40, {.seed = 1}); }),
              ElementsAre("data.too-short", "data.vocabulary"));
  // The header's vocabulary is within the model's, the tokens are not: seen when it is read.
  std::string bytes = folder.read("count.tokens");
  store_number(bytes.data() + kTokenHeaderBytes + 4 * 30, 99999999, 4);
  const TokenFileSamples samples(TokenFile::open(folder.write("bad.tokens", bytes)), 10, 100000,
                                 {.shuffle = false});
  std::vector<std::int64_t> tokens(11);
  EXPECT_THAT(codes_of([&] { samples.read(0, {.tokens = tokens}); }), ElementsAre());
  EXPECT_THAT(codes_of([&] { samples.read(2, {.tokens = tokens}); }),
              ElementsAre("data.vocabulary"));
}

TEST(SyntheticTokens, FollowTheirGraph) {
  const SyntheticTokens samples(1000, 4000, 7);
  std::vector<std::int64_t> tokens(4001), again(4001);
  samples.read(3, {.tokens = tokens});
  samples.read(3, {.tokens = again});
  EXPECT_EQ(tokens, again);
  samples.read(4, {.tokens = again});
  EXPECT_NE(tokens, again);
  int branches[4] = {};
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    ASSERT_GE(tokens[i], 0);
    ASSERT_LT(tokens[i], 1000);
    int branch = 0;
    while (branch < 4 && samples.successor(tokens[i - 1], branch) != tokens[i]) ++branch;
    ASSERT_LT(branch, 4) << i;
    ++branches[branch];
  }
  // A branch that leads where an earlier one does counts as that one, so the first has the more.
  EXPECT_NEAR(branches[0], 2000, 150);
  EXPECT_NEAR(branches[1], 1000, 150);
}

TEST(SyntheticTokens, CanBeLearnt) {
  // The conditional entropy of the next token, counted over a long walk: what a model that knows
  // the graph reaches.
  const SyntheticTokens samples(50, 50000, 1);
  std::vector<std::int64_t> tokens(50001);
  samples.read(0, {.tokens = tokens});
  std::map<std::int64_t, std::map<std::int64_t, double>> follow;
  for (std::size_t i = 1; i < tokens.size(); ++i) ++follow[tokens[i - 1]][tokens[i]];
  double nats = 0;
  for (const auto& [token, next] : follow) {
    double total = 0;
    for (const auto& [other, count] : next) total += count;
    for (const auto& [other, count] : next) nats -= count * std::log(count / total);
  }
  nats /= 50000;
  EXPECT_LT(nats, kSyntheticTokenLoss + 0.01);
  EXPECT_GT(nats, 0.5);
  EXPECT_LT(kSyntheticTokenLoss, std::log(50));
  EXPECT_NEAR(kSyntheticTokenLoss, 1.75 * std::log(2.0), 1e-12);
}

TEST(SyntheticImages, CarryTheirClass) {
  const SyntheticImages samples(4, 32, 9);
  const auto size = static_cast<std::size_t>(samples.shape().num_pixels);
  ASSERT_EQ(size, 3U * 32 * 32);
  std::vector<float> pixels(size);
  std::int64_t label = 0;
  // The mean of each class over half the samples tells the class of the other half.
  std::map<std::int64_t, std::vector<double>> sums;
  for (std::uint64_t g = 0; g < 200; ++g) {
    samples.read(g, {.pixels = pixels, .label = &label});
    auto& sum = sums[label];
    sum.resize(size);
    for (std::size_t i = 0; i < size; ++i) sum[i] += pixels[i];
  }
  ASSERT_EQ(sums.size(), 4U);
  for (std::uint64_t g = 200; g < 300; ++g) {
    samples.read(g, {.pixels = pixels, .label = &label});
    double best = -1e30;
    std::int64_t guess = -1;
    for (const auto& [candidate, sum] : sums) {
      double product = 0;
      for (std::size_t i = 0; i < size; ++i) product += sum[i] * pixels[i];
      if (product > best) std::tie(best, guess) = std::tuple(product, candidate);
    }
    EXPECT_EQ(guess, label) << g;
  }
}

}  // namespace
}  // namespace nereus::data::sample_source_test
