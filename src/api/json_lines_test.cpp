#include "api/json_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "api/call.hpp"

namespace nereus::api::json_lines_test {
namespace {

// What comes back for some lines, progress left out.
std::vector<Json> replies(const std::vector<std::string>& lines) {
  std::vector<Json> result;
  std::size_t next = 0;
  answer_lines(
      [&](std::string& line) {
        if (next == lines.size()) return false;
        line = lines[next++];
        return true;
      },
      [&](std::string_view line) {
        const Json json = Json::parse(line);
        if (!json.contains("progress")) result.push_back(json);
      });
  return result;
}

TEST(Lines, AnswersInTheOrderOfTheRequests) {
  const std::vector<Json> got = replies(
      {R"({"id": 7, "verb": "predict", "request": {"model": "gpt2", "cluster": "1xdgx-h100"}})", "",
       R"({"id": "b", "verb": "version"})"});
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0]["id"], 7);
  EXPECT_EQ(got[0]["answer"],
            call("predict", {{"model", "gpt2"}, {"cluster", "1xdgx-h100"}}).answer);
  EXPECT_EQ(got[1]["id"], "b");
  EXPECT_TRUE(got[1]["answer"].contains("version"));
}

TEST(Lines, WrongLinesHaveErrorsAndTheNextIsAnswered) {
  const std::vector<Json> got =
      replies({"{", "[1]", R"({"id": 1})", R"({"id": 2, "verb": "plann", "request": {}})",
               R"({"id": 3, "verb": "predict", "reqest": {}})",
               R"({"id": 4, "verb": "predict", "request": {}, "requests": {}})",
               R"({"id": 5, "verb": "version", "request": {}})"});
  ASSERT_EQ(got.size(), 7U);
  const std::vector<std::string> codes = {"api.bad-json",      "api.bad-request",
                                          "api.bad-request",   "api.unknown-verb",
                                          "api.unknown-field", "api.bad-request"};
  for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(got[i]["error"]["code"], codes[i]) << i;
  EXPECT_TRUE(got[6].contains("answer"));
}

TEST(Lines, ColumnsGiveColumns) {
  const std::vector<Json> got = replies(
      {R"({"id": 1, "verb": "predict", "requests": {"model": "gpt2", "cluster": "1xdgx-h100",)"
       R"( "tp": [1, 2, 3]}, "fields": ["step_s", "memory.worst_rank_bytes", "nothing"]})"});
  ASSERT_EQ(got.size(), 1U);
  const Json& answers = got[0]["answers"];
  for (const int tp : {1, 2}) {
    const Json one =
        call("predict", {{"model", "gpt2"}, {"cluster", "1xdgx-h100"}, {"tp", tp}}).answer;
    const std::size_t i = static_cast<std::size_t>(tp) - 1;
    EXPECT_EQ(answers["step_s"][i], one["step_s"]);
    EXPECT_EQ(answers["memory.worst_rank_bytes"][i], one["memory"]["worst_rank_bytes"]);
    EXPECT_TRUE(answers["nothing"][i].is_null());
  }
  EXPECT_TRUE(answers["step_s"][2].is_null());  // 8 devices are not divided by 3
  EXPECT_TRUE(got[0]["errors"].contains("2"));
  EXPECT_EQ(got[0]["errors"].size(), 1U);
}

TEST(Lines, ColumnsOfDifferentLengthAreRefused) {
  const std::vector<Json> got =
      replies({R"({"id": 1, "verb": "predict", "requests": {"model": ["gpt2"], "tp": [1, 2]}})",
               R"({"id": 2, "verb": "predict", "requests": {"model": "gpt2"}})",
               R"({"id": 3, "verb": "version", "requests": {"no": []}, "fields": ["version"]})"});
  EXPECT_EQ(got.at(0)["error"]["code"], "api.columns");
  EXPECT_EQ(got.at(1)["error"]["code"], "api.columns");
  EXPECT_EQ(got.at(2)["answers"]["version"], Json::array());
}

// The second line cancels the first while it runs: it ends early, with what it has.
TEST(Lines, ACancelEndsTheRequestThatRuns) {
  std::mutex mutex;
  std::condition_variable said;
  bool running = false;
  int next = 0;
  std::vector<Json> got;
  answer_lines(
      [&](std::string& line) {
        ++next;
        if (next == 1) {
          // Far longer than this test may take.
          line = R"({"id": 1, "verb": "plan", "request": {"model": "gpt3-175b", "threads": 1,)"
                 R"( "cluster": "512xdgx-a100-80", "schedule": "all", "offload": "any"}})";
          return true;
        }
        if (next > 2) return false;
        std::unique_lock lock(mutex);
        said.wait(lock, [&] { return running; });
        line = R"({"cancel": 1})";
        return true;
      },
      [&](std::string_view line) {
        const std::lock_guard lock(mutex);
        const Json json = Json::parse(line);
        if (json.contains("progress")) {
          EXPECT_EQ(json["id"], 1);
          running = true;
          said.notify_one();
        } else {
          running = true;  // it was quicker than its first progress
          said.notify_one();
          got.push_back(json);
        }
      });
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0]["id"], 1);
  EXPECT_EQ(got[0]["exit_code"], 10);
}

TEST(Lines, AThrowingReaderOfAnswersEndsIt) {
  struct Gone {};
  int lines = 0;
  EXPECT_THROW(answer_lines(
                   [lines](std::string& line) mutable {
                     line = R"({"id": 1, "verb": "version"})";
                     return lines++ == 0;
                   },
                   [](std::string_view) { throw Gone{}; }),
               Gone);
}

}  // namespace
}  // namespace nereus::api::json_lines_test
