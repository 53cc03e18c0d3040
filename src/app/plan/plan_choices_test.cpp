// A planner that does not read an option refuses it, whichever it is.
#include "app/plan/plan_choices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "app/plan/plan_burst.hpp"
#include "app/plan/plan_spot.hpp"
#include "search/regular/choice_fields.hpp"

namespace nereus::app::plan_choices_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Error> errors_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Errors& errors) {
    return errors.list();
  }
  return {};
}

PlanRequest request_on(const char* model, const char* cluster) {
  PlanRequest request;
  request.model = {model, {}};
  request.cluster = {cluster, {}};
  request.lifts = false;
  return request;
}

// Each of the space's options alone.
void for_each_option(const PlanRequest& plain,
                     const std::function<void(const std::string&, const PlanRequest&)>& visit) {
  search::for_each_choice([&](const auto& field) {
    PlanRequest request = plain;
    (request.choices.*field.list).resize(1);
    visit(std::string(field.option == nullptr ? field.name : field.option), request);
  });
  PlanRequest limited = plain;
  limited.choices.max_tp = 4;
  visit("--max-tp", limited);
}

TEST(PlanChoices, SpotAndBurstReadNoneOfTheSpace) {
  for_each_option(request_on("gpt2", "4xp3.2xlarge"),
                  [](const std::string& option, const PlanRequest& request) {
                    const auto spot = errors_of([&] { plan_spot(request, {}); });
                    ASSERT_EQ(spot.size(), 1u) << option;
                    EXPECT_EQ(spot[0].code, "plan.spot-option") << option;
                    const auto burst = errors_of([&] { plan_burst(request, {}); });
                    ASSERT_EQ(burst.size(), 1u) << option;
                    EXPECT_EQ(burst[0].code, "plan.burst-option") << option;
                  });
}

TEST(PlanChoices, OneErrorNamesAll) {
  PlanRequest request = request_on("gpt2", "4xp3.2xlarge");
  request.choices.tp = {4};
  request.choices.contexts = {plan::ContextKind::kRing};
  request.choices.max_tp = 8;
  request.options.headroom = 0.1;
  request.options.objectives = {search::Objective::kMoney};
  EXPECT_EQ(errors_of([&] { plan_spot(request, {}); }).at(0).message,
            "--tp, --context, --max-tp, --headroom, --objective would have no effect with --spot");
  EXPECT_EQ(errors_of([&] { plan_burst(request, {}); }).at(0).message,
            "--tp, --context, --max-tp would have no effect with --burst");
  EXPECT_THAT(unread_options({}, kSpotPlanner), IsEmpty());
}

TEST(PlanChoices, MixedClustersReadSomeOfThem) {
  const std::vector<std::string> read = {"--tp", "--micro-batch", "--zero", "--recompute",
                                         "--max-tp"};
  for_each_option(request_on("gpt2", "1xp4d.24xlarge+1xg5.48xlarge"),
                  [&](const std::string& option, const PlanRequest& request) {
                    if (std::find(read.begin(), read.end(), option) != read.end()) return;
                    const auto errors = errors_of([&] { plan(request); });
                    ASSERT_EQ(errors.size(), 1u) << option;
                    EXPECT_EQ(errors[0].code, "plan.mixed-option");
                    EXPECT_THAT(errors[0].message, HasSubstr(option + " is not searched"));
                  });
}

}  // namespace
}  // namespace nereus::app::plan_choices_test
