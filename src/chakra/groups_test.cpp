#include "chakra/groups.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "chakra/test_steps.hpp"
#include "plan/expand.hpp"

namespace nereus::chakra::groups_test {
namespace {

using namespace testing;

RC_GTEST_PROP(Groups, EveryKindDividesTheRanks, ()) {
  const cost::testing::Case c = small_case();
  const ChakraStep step = step_of(c);
  std::set<int> ids;
  for (int k = 0; k < kNumGroupKinds; ++k) {
    const auto kind = static_cast<GroupKind>(k);
    for (int rank = 0; rank < step.num_ranks(); ++rank) {
      const std::vector<int> ranks = step.groups.members(kind, rank);
      RC_ASSERT(std::is_sorted(ranks.begin(), ranks.end()));
      RC_ASSERT(std::count(ranks.begin(), ranks.end(), rank) == 1);
      for (const int other : ranks) {
        RC_ASSERT(other >= 0 && other < step.num_ranks());
        RC_ASSERT(step.groups.members(kind, other) == ranks);
      }
      const int id = step.groups.id(kind, rank);
      RC_ASSERT((id > 0) == (ranks.size() > 1));
      if (id > 0 && ranks.front() == rank) RC_ASSERT(ids.insert(id).second);
    }
  }
  const auto json = nlohmann::json::parse(step.groups.json());
  RC_ASSERT(json.size() == ids.size());
}

// The ranks among which the expanded plan divides and copies a layer's optimizer state are the
// state and copies groups.
RC_GTEST_PROP(Groups, AgreeWithTheExpandedPlan, ()) {
  const cost::testing::Case c =
      small_case(true, [](const plan::Degrees& d) { return d.offload.optimizer == 0; });
  const ChakraStep step = step_of(c);
  const plan::Placement placement = plan::expand(c.degrees, c.model);
  for (const plan::LayerRun& run : placement.runs)
    for (const plan::StateShare& share : run.state) {
      if (share.kind != plan::StateKind::kOptimizer) continue;
      std::vector<int> ranks;
      for (const plan::RankRange& range : share.ranks)
        for (int i = 0; i < range.count; ++i) ranks.push_back(range.first + i * range.stride);
      const GroupKind inner = share.experts ? GroupKind::kExpertState : GroupKind::kState;
      const GroupKind outer = share.experts ? GroupKind::kExpertCopies : GroupKind::kCopies;
      for (std::size_t j = 0; j < ranks.size(); ++j) {
        const std::vector<int> pieces = step.groups.members(inner, ranks[j]);
        const std::vector<int> copies = step.groups.members(outer, ranks[j]);
        RC_ASSERT(static_cast<int>(pieces.size()) == share.pieces);
        RC_ASSERT(pieces.size() * copies.size() == ranks.size());
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          const bool same = i % pieces.size() == j % pieces.size();
          RC_ASSERT((std::count(copies.begin(), copies.end(), ranks[i]) == 1) == same);
        }
      }
    }
}

}  // namespace
}  // namespace nereus::chakra::groups_test
