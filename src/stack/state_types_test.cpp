// The bytes per parameter that a plan's number formats give (stack/stack.hpp).
#include "plan/state_types.hpp"

#include <gtest/gtest.h>

#include "stack/stack.hpp"

namespace nereus::cost::state_types_test {
namespace {

using cluster::Precision;
using plan::NumberType;
using plan::StateTypes;

StackOptions with(const StateTypes& types, StackOptions options = {}) {
  return options_for(options, Precision::kBf16, types);
}

TEST(StateTypes, TheStackDecidesWhatAPlanLeavesOut) {
  EXPECT_EQ(with({}), StackOptions{});
  EXPECT_EQ(plan::to_string(StateTypes{}), "");
}

TEST(StateTypes, GradientsReductionsAndGathersHaveTheirOwn) {
  const StackOptions o = with(
      {.gradients = NumberType::kBf16, .reduced = NumberType::kBf16, .gathered = NumberType::kFp8});
  EXPECT_EQ(o.gradient_bytes, 2);
  EXPECT_EQ(o.reduce_bytes, 2);
  EXPECT_EQ(o.gather_bytes, 1);
  EXPECT_EQ(o.optimizer_bytes, 12);
  EXPECT_DOUBLE_EQ(o.accumulate_traffic, 0.6);  // 2 + 2 + 2 bytes for 4 + 4 + 2
}

TEST(StateTypes, OptimizerStateIsAMasterCopyAndTwoMoments) {
  EXPECT_EQ(with({.moments = NumberType::kBf16}).optimizer_bytes, 4 + 4);
  EXPECT_NEAR(with({.moments = NumberType::kInt8}).optimizer_bytes, 4 + 2, 0.01);
  EXPECT_EQ(with({.moments = NumberType::kFp8, .master = NumberType::kFp16}).optimizer_bytes,
            2 + 2);
  EXPECT_EQ(with({.master = NumberType::kNone}).optimizer_bytes, 8);
}

// FSDP keeps fp32 shards and no copy of them; trained in bf16 the shards have two bytes.
TEST(StateTypes, FullWidthWeightsNeedNoMasterCopy) {
  StackOptions fsdp;
  fsdp.weight_bytes = 4;
  fsdp.optimizer_bytes = 8;
  EXPECT_EQ(with({.master = NumberType::kFp32}, fsdp).optimizer_bytes, 8);
  const StackOptions small =
      with({.moments = NumberType::kBf16, .master = NumberType::kNone}, fsdp);
  EXPECT_EQ(small.weight_bytes, 2);
  EXPECT_EQ(small.optimizer_bytes, 4);
}

TEST(StateTypes, APartHasItsOwnTypes) {
  for (const plan::StateTypePart& part : plan::kStateTypeParts) {
    EXPECT_TRUE(allows(part, NumberType::kStack)) << part.name;
    EXPECT_EQ(allows(part, NumberType::kNone), part.name == "master") << part.name;
    EXPECT_EQ(allows(part, NumberType::kInt8), part.name == "moments") << part.name;
  }
}

}  // namespace
}  // namespace nereus::cost::state_types_test
