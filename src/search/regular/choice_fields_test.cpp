#include "search/regular/choice_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plan/degree_fields.hpp"

namespace nereus::search::choice_fields_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A search is told of every degree: by a list, or by a value of Choices that every planner reads.
TEST(ChoiceFields, EveryDegreeHasAChoice) {
  std::set<std::string_view> listed = {"global_batch", "precision", "state_types"};
  std::set<std::string_view> degrees = {};
  for_each_choice([&](const auto& field) { EXPECT_TRUE(listed.insert(field.name).second); });
  plan::for_each_degree([&](const auto& field) {
    if (field.name != "recompute_blocks") degrees.insert(field.name);  // RecomputeChoice::kPartial
  });
  EXPECT_EQ(listed, degrees);
  plan::for_each_degree([&](const auto& degree) {
    for_each_choice([&](const auto& choice) {
      if (degree.name != choice.name) return;
      EXPECT_STREQ(degree.option, choice.option);
    });
  });
}

TEST(ChoiceFields, OptionsNameWhatIsGiven) {
  EXPECT_THAT(given_options({}), IsEmpty());
  EXPECT_THAT(given_options({.global_batch = 8, .precision = cluster::Precision::kFp16}),
              IsEmpty());
  for_each_choice([&](const auto& field) {
    Choices choices;
    (choices.*field.list).resize(1);
    const std::string name(field.option == nullptr ? field.name : field.option);
    EXPECT_THAT(given_options(choices), ElementsAre(name));
    EXPECT_THAT(given_options(choices, {name}), IsEmpty());
  });
  Choices choices;
  choices.offload_any = true;
  EXPECT_THAT(given_options(choices), ElementsAre("--offload"));
  choices = {};
  choices.max_tp = 8;
  choices.state_types.reduced = plan::NumberType::kBf16;
  choices.contexts = {plan::ContextKind::kRing};
  EXPECT_THAT(given_options(choices), ElementsAre("--context", "--state-types", "--max-tp"));
}

}  // namespace
}  // namespace nereus::search::choice_fields_test
