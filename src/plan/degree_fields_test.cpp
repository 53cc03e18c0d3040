// Nothing that goes through the list of fields forgets one, or takes one for another.
#include "plan/degree_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plan/complete.hpp"
#include "plan/degree_testing.hpp"
#include "plan/plan_json.hpp"
#include "plan/test_models.hpp"

namespace nereus::plan::degree_fields_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::other_than;
using testing::request_of;

TEST(DegreeFields, NamesAreOfOneFieldEach) {
  std::set<std::string_view> names;
  Degrees changed;
  DegreesRequest all;
  for_each_request([&](const auto& field) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    std::string option = "--" + std::string(field.name);
    for (char& c : option)
      if (c == '_') c = '-';
    if (field.option != nullptr) {
      EXPECT_EQ(field.option, option);
    }
    EXPECT_FALSE((all.*field.request).has_value()) << field.name << " is of another field too";
    all.*field.request = *(request_of(field).*field.request);
  });
  // As many members as there are fields, and no two names have the same one.
  for_each_degree([&](const auto& field) {
    EXPECT_EQ(changed.*field.degree, Degrees{}.*field.degree) << field.name;
    changed.*field.degree = other_than(changed.*field.degree);
  });
}

TEST(DegreeFields, EveryFieldGoesThroughJson) {
  const spec::Value usual = degrees_to_value({});
  for_each_degree([&](const auto& field) {
    Degrees d;
    d.*field.degree = other_than(d.*field.degree);
    const spec::Value written = degrees_to_value(d);
    EXPECT_NE(spec::to_json(written), spec::to_json(usual)) << field.name;
    ErrorList errors;
    EXPECT_EQ(degrees_from_value(written, errors), d) << field.name;
    EXPECT_THAT(errors.list(), IsEmpty()) << field.name;
  });
}

TEST(DegreeFields, WhatIsGivenIsTakenAndNotDerived) {
  for_each_degree([&](const auto& field) {
    const DegreesRequest request = request_of(field);
    const CompletedDegrees completed =
        complete_degrees(request, testing::make_dense(8), testing::make_cluster(2));
    EXPECT_EQ(completed.degrees.*field.degree, *(request.*field.request)) << field.name;
    EXPECT_THAT(completed.derived, Not(Contains(field.name)));
  });
}

TEST(DegreeFields, OptionsNameWhatIsGiven) {
  EXPECT_THAT(given_options({}), IsEmpty());
  for_each_request([&](const auto& field) {
    if (field.option == nullptr) return;
    EXPECT_THAT(given_options(request_of(field)), ElementsAre(field.option));
    EXPECT_THAT(given_options(request_of(field), {"--none", field.option}), IsEmpty());
  });
  EXPECT_THAT(given_options({.tp = 2, .seq = 8, .context = ContextKind::kRing}, {"--seq"}),
              ElementsAre("--tp", "--context"));
}

}  // namespace
}  // namespace nereus::plan::degree_fields_test
