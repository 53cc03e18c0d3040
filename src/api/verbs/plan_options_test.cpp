// The options and answers of a plan's degrees have all of its fields.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/reports/collective_report.hpp"
#include "api/reports/degrees_json.hpp"
#include "api/reports/prediction_report.hpp"
#include "api/verbs/verbs.hpp"
#include "plan/degree_testing.hpp"
#include "search/regular/choice_fields.hpp"

namespace nereus::api::plan_options_test {
namespace {

using ::testing::ElementsAre;

// A word that the option takes.
template <class T>
std::string word_for(const T& value) {
  if constexpr (std::is_same_v<T, plan::Offload>)
    return "nvme:optimizer=1";
  else if constexpr (std::is_same_v<T, bool>)
    return value ? "on" : "off";
  else if constexpr (std::is_same_v<T, int>)
    return std::to_string(value);
  else
    return std::string(to_string(value));
}

TEST(PlanOptions, EveryDegreeHasItsOption) {
  plan::for_each_request([](const auto& field) {
    if (field.option == nullptr) return;
    app::DegreesRequest given;
    Command command("try", "for tests");
    add_degrees_options(command, given);
    using T = std::remove_cvref_t<decltype(*(given.*field.request))>;
    const T value = plan::testing::other_than(T{});
    ErrorList errors;
    command.give(*command.find(field.option), word_for(value), errors);
    errors.throw_if_any();
    EXPECT_THAT(plan::given_options(given), ElementsAre(field.option));
    if constexpr (!std::is_same_v<T, plan::Offload>) {
      EXPECT_EQ(given.*field.request, value);
    }
  });
}

TEST(PlanOptions, EveryChoiceIsAnOptionOfPlan) {
  Nobody nobody;
  const Verb verb = plan_verb(nobody);
  search::for_each_choice([&](const auto& field) {
    if (field.option == nullptr) return;
    EXPECT_NE(verb->find(field.option), nullptr) << field.option;
  });
  EXPECT_NE(verb->find("--max-tp"), nullptr);
}

// How tables are split is said of models that have some, and number formats where they are not the
// stack's.
TEST(PlanOptions, AnswersHaveEveryDegree) {
  const nlohmann::ordered_json json = degrees_json({});
  app::PredictRequest request;
  request.model = {"gpt2", {}};
  request.cluster = {"1xdgx-h100", {}};
  const Table row = prediction_row(app::predict(request));
  plan::for_each_degree([&](const auto& field) {
    if (field.name == "table_split" || field.name == "state_types") return;
    EXPECT_TRUE(json.contains(std::string(field.name))) << field.name;
    bool found = false;  // what is offloaded has a column for each part
    for (const Column& column : row.columns)
      found |= column.key == field.name || column.key == std::string(field.name) + "_weights";
    EXPECT_TRUE(found) << field.name;
  });
}

TEST(PlanOptions, ACollectiveHasNoDegrees) {
  plan::for_each_request([](const auto& field) {
    if (field.option == nullptr) return;
    app::PredictRequest plan;
    plan.cluster.cluster = "1xdgx-h100";
    plan.degrees = plan::testing::request_of(field);
    app::SimulateCollectiveRequest collective;
    collective.collective = "all-reduce";
    collective.bytes = "1MiB";
    try {
      network_simulation(plan, collective, Format::kTable);
      ADD_FAILURE() << field.option << " is ignored";
    } catch (const Errors& errors) {
      EXPECT_EQ(errors.list().front().code, "cli.conflict") << field.option;
    }
  });
}

}  // namespace
}  // namespace nereus::api::plan_options_test
