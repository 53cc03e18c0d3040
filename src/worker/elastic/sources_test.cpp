// Every element that is needed comes from one holder, and is the right one: against brute force.
#include "worker/elastic/sources.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/random.hpp"

namespace nereus::worker {
namespace {

using checkpoint::SliceMap;

PartName part(checkpoint::SliceSpec slice, std::int64_t begin, std::int64_t end,
              std::uint64_t checksum = 1) {
  PartName p;
  p.tensor = "h.0.weight";
  p.shape = {6, 8};
  p.slice = checkpoint::canonical(slice);
  p.begin = begin;
  p.end = end;
  p.checksum = checksum;
  return p;
}

// A random division of the tensor over one to four ranks: slices of tensor parallelism, each cut
// into ranges.
std::vector<PartNames> random_division(Random& random, int ranks) {
  std::vector<PartNames> parts(static_cast<std::size_t>(ranks));
  const int of = 1 << random.below(2);
  const int dim = static_cast<int>(random.below(2));
  for (int slice = 0; slice < of; ++slice) {
    const checkpoint::SliceSpec spec{slice, of, dim, 1};
    const std::int64_t size = SliceMap({6, 8}, spec).size();
    for (std::int64_t begin = 0; begin < size;) {
      const std::int64_t end =
          begin + 1 +
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size - begin)));
      parts[random.below(static_cast<std::uint64_t>(ranks))].push_back(part(spec, begin, end));
      begin = end;
    }
  }
  return parts;
}

TEST(Sources, CoverEveryElementOnceWithItself) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const int ranks = 1 + static_cast<int>(random.below(4));
    std::vector<PartNames> holds = random_division(random, ranks);
    if (random.below(2) == 1) {  // a second copy, divided otherwise
      const std::vector<PartNames> more = random_division(random, ranks);
      for (std::size_t r = 0; r < more.size(); ++r)
        holds[r].insert(holds[r].end(), more[r].begin(), more[r].end());
    }
    const std::vector<PartNames> needs = random_division(random, ranks);
    const Sources sources = find_sources(holds, needs);
    EXPECT_TRUE(sources.missing.empty()) << seed;
    std::vector<std::vector<std::vector<int>>> given(needs.size());
    for (std::size_t r = 0; r < needs.size(); ++r)
      for (const PartName& need : needs[r])
        given[r].emplace_back(static_cast<std::size_t>(need.end - need.begin), 0);
    for (const Move& move : sources.moves) {
      const PartName& need = needs[move.to][move.needed];
      const PartName& held = holds[move.from][move.held];
      const SliceMap to(need.shape, need.slice), from(held.shape, held.slice);
      for (const checkpoint::SharedRun& run : move.runs)
        for (std::int64_t i = 0; i < run.size; ++i) {
          ASSERT_EQ(from.element(run.from + i), to.element(run.to + i)) << seed;
          ASSERT_TRUE(run.from + i >= held.begin && run.from + i < held.end) << seed;
          ++given[move.to][move.needed][run.to + i - need.begin];
        }
    }
    for (const auto& rank : given)
      for (const auto& elements : rank)
        for (const int times : elements) ASSERT_EQ(times, 1) << seed;
  }
}

TEST(Sources, ItselfFirstAndReplicasInTurn) {
  const std::vector<PartNames> whole = {{part({}, 0, 48)}, {part({}, 0, 48)}, {}, {}};
  const std::vector<PartNames> needs(4, {part({}, 0, 48)});
  const Sources sources = find_sources(whole, needs);
  ASSERT_EQ(sources.moves.size(), 4u);
  std::vector<int> from(4);
  for (const Move& move : sources.moves) from[move.to] = move.from;
  EXPECT_EQ(from[0], 0);
  EXPECT_EQ(from[1], 1);
  EXPECT_NE(from[2], from[3]);
}

TEST(Sources, ATiedWeightComesFromOneLayerForAll) {
  const auto of = [](int layer, std::uint64_t checksum) {
    PartName p = part({}, 0, 48, checksum);
    p.layer = layer;
    return p;
  };
  // Layers 0 and 5 have it, with another last bit.
  const std::vector<PartNames> holds = {{of(0, 7)}, {of(0, 7)}, {of(5, 9)}, {of(5, 9)}};
  EXPECT_TRUE(odd_copies(holds).empty());
  const auto layer_for = [&](const std::vector<PartNames>& held, int layer, int rank) {
    std::vector<PartNames> needs(4);
    needs[rank] = {of(layer, 0)};
    const Sources sources = find_sources(held, needs);
    return sources.moves.empty() ? -1 : held[sources.moves[0].from][sources.moves[0].held].layer;
  };
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(layer_for(holds, 0, rank), 0) << rank;
    EXPECT_EQ(layer_for(holds, 5, rank), 5) << rank;
    EXPECT_EQ(layer_for(holds, 3, rank), 0) << rank;
    EXPECT_EQ(layer_for({{}, {}, {of(5, 9)}, {}}, 0, rank), 5)
        << rank;  // the first layer's are lost
  }
}

TEST(Sources, SayWhatNobodyHas) {
  const std::vector<PartNames> half = {{part({}, 0, 20)}, {}};
  const Sources sources = find_sources(half, {{part({}, 0, 48)}, {}});
  ASSERT_EQ(sources.missing.size(), 1u);
  EXPECT_NE(sources.missing[0].find("h.0.weight"), std::string::npos);
}

TEST(Sources, OddCopiesAreNotTrusted) {
  const auto of = [](std::vector<std::uint64_t> sums) {
    std::vector<PartNames> holds;
    for (const std::uint64_t sum : sums) holds.push_back({part({}, 0, 48, sum)});
    return odd_copies(holds);
  };
  EXPECT_TRUE(of({7, 7, 7}).empty());
  EXPECT_EQ(of({7, 9, 7}), (Distrusted{{1, 0}}));
  EXPECT_EQ(of({7, 9}), (Distrusted{{0, 0}, {1, 0}}));
  EXPECT_EQ(of({7, 9, 7, 9}).size(), 4u);
  const std::vector<PartNames> two = {{part({}, 0, 48, 7)}, {part({}, 0, 48, 9)}};
  EXPECT_EQ(find_sources(two, two, odd_copies(two)).missing.size(), 2u);
}

TEST(Sources, NamesTravelAsText) {
  PartNames names = {part({1, 2, 0, 1}, 3, 17, 0xdeadbeefcafe0123), part({}, 0, 48)};
  names[1].shape = {};  // a number
  names[1].kind = checkpoint::TensorKind::kRunningStatistic;
  EXPECT_EQ(parse_names(to_text(names)), names);
  EXPECT_TRUE(parse_names("").empty());
  EXPECT_THROW(parse_names("a\tb\n"), Errors);
}

}  // namespace
}  // namespace nereus::worker
