#include "api/call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/form/exit_codes.hpp"

namespace nereus::api::call_test {
namespace {

const Json kSmall = {{"model", "gpt2"}, {"cluster", "1xdgx-h100"}};

TEST(Call, AnswersWithAllDigits) {
  const Reply reply = call("predict", kSmall);
  EXPECT_EQ(reply.exit_code, kDone);
  EXPECT_TRUE(reply.errors.empty());
  EXPECT_GT(reply.answer["step_s"].get<double>(), 0);
  EXPECT_EQ(reply.answer["degrees"]["dp"], 8);
}

TEST(Call, JsonWhereAVerbHasMoreOfItThanTables) {
  const Reply reply = call("explain", kSmall);
  EXPECT_TRUE(reply.answer.contains("step_s"));
  EXPECT_TRUE(reply.answer.contains("parameters"));
}

TEST(Call, NothingOfOneCallIsLeftInTheNext) {
  Json with_tp = kSmall;
  with_tp["tp"] = 2;
  const Reply first = call("predict", kSmall);
  EXPECT_EQ(call("predict", with_tp).answer["degrees"]["tp"], 2);
  EXPECT_EQ(call("predict", kSmall).answer, first.answer);
}

TEST(Call, WhatGoesWrongIsInTheReply) {
  EXPECT_EQ(call("predikt", kSmall).errors.at(0).code, "api.unknown-verb");
  const Reply reply = call("predict", {{"model", "gpt3-1"}, {"cluster", "1xdgx-h100"}});
  EXPECT_EQ(reply.exit_code, kBadInput);
  EXPECT_TRUE(reply.answer.is_null());
  ASSERT_FALSE(reply.errors.empty());
  const Json json = errors_json(reply.errors);
  EXPECT_FALSE(json["code"].get<std::string>().empty());
  EXPECT_FALSE(json["hints"].empty());
}

TEST(Call, NothingFeasibleHasItsExitCode) {
  const Reply reply =
      call("plan", {{"model", "gpt3-175b"}, {"cluster", "1xdgx-h100"}, {"tp", 1}, {"pp", 1}});
  EXPECT_EQ(reply.exit_code, kNothingFeasible);
}

TEST(Call, StopEndsASearchEarly) {
  int asked = 0;
  CallOptions options;
  options.stop = [&asked] { return ++asked > 0; };
  const Reply reply =
      call("plan", {{"model", "llama3-70b"}, {"cluster", "16xdgx-h100"}, {"threads", 1}}, options);
  EXPECT_EQ(reply.exit_code, kStoppedEarly);
  EXPECT_GT(asked, 0);
}

TEST(Call, PlacesOfErrorsAreOneText) {
  EXPECT_EQ(error_json({"a.b", "wrong", {"best.plan", 3, 7}})["where"], "best.plan:3:7");
  EXPECT_EQ(error_json({"a.b", "wrong", {"tp"}})["where"], "tp");
  EXPECT_TRUE(error_json({"a.b", "wrong"})["where"].is_null());
  EXPECT_TRUE(errors_json({}).is_null());
  EXPECT_EQ(errors_json({{"a", "1"}, {"b", "2"}})["more"][0]["code"], "b");
}

}  // namespace
}  // namespace nereus::api::call_test
