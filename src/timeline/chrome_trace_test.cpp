#include "timeline/chrome_trace.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/gzip.hpp"
#include "base/temporary_folder.hpp"
#include "timeline/check_trace.hpp"
#include "timeline/timeline_testing.hpp"

namespace nereus::timeline::chrome_trace_test {
namespace {

using Json = nlohmann::json;

Timeline two_ranks() {
  Timeline t;
  t.lanes = {
      {0, "rank 0", "compute"}, {0, "rank 0", "send", Stream::kSend}, {1, "rank \"1\"", "compute"}};
  t.slices = {{0, 0, 1'500'000, SliceKind::kForward, 0, 3},
              {1, 1'500'000, 1'700'000, SliceKind::kSend, 0, 3},
              {2, 1'700'000, 2'000'001, SliceKind::kBackward, 1, 3},
              {0, 2'000'001, 2'400'002, SliceKind::kOptimizer}};
  t.flows = {{1, 1'700'000, 2, 1'700'000, 7, "send"}};
  t.counters = {{0, "memory", "bytes", {{0, 1e9}, {2'000'000, 0.5}}}};
  t.marks = {step_mark(0, 0, 2'400'002)};
  t.num_ranks = 2;
  return t;
}

Json events_of(const Timeline& t, const TraceOptions& options = {}) {
  return Json::parse(chrome_trace(t, options))["traceEvents"];
}

std::vector<Json> with(const Json& events, const std::string& key, const std::string& value) {
  std::vector<Json> out;
  for (const Json& event : events)
    if (event.value(key, "") == value) out.push_back(event);
  return out;
}

TEST(ChromeTrace, HoldsNamesSlicesFlowsCountersAndSteps) {
  const Json events = events_of(two_ranks());
  EXPECT_EQ(with(events, "name", "process_name").size(), 2u);
  EXPECT_EQ(with(events, "name", "process_name")[1]["args"]["name"], "rank \"1\"");
  EXPECT_EQ(with(events, "name", "thread_name").size(), 3u + 2);  // steps of two processes
  EXPECT_EQ(with(events, "name", "thread_sort_index").size(), 3u + 2);
  const auto slices = with(events, "ph", "X");
  ASSERT_EQ(slices.size(), 4u + 2);
  EXPECT_EQ(slices[0]["name"], "ProfilerStep#0");
  EXPECT_EQ(slices[0]["cat"], "user_annotation");
  EXPECT_EQ(slices[2]["name"], "forward 3");
  EXPECT_EQ(slices[2]["args"], (Json{{"micro_batch", 3}, {"stage", 0}}));
  EXPECT_EQ(slices[5]["args"], Json::object());
  const auto starts = with(events, "ph", "s");
  const auto ends = with(events, "ph", "f");
  ASSERT_EQ(starts.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  for (const char* key : {"id", "cat", "name"}) EXPECT_EQ(starts[0][key], ends[0][key]);
  EXPECT_EQ(ends[0]["bp"], "e");
  EXPECT_EQ(starts[0]["ts"], 1.699);  // inside the send, which ends at 1.7
  EXPECT_EQ(ends[0]["ts"], 1.7);
  EXPECT_EQ(ends[0]["pid"], 1);
  const auto samples = with(events, "ph", "C");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0]["args"], (Json{{"bytes", 1e9}}));
  EXPECT_EQ(samples[1]["ts"], 2.0);
}

// Which rank it is, only where there is one.
TEST(ChromeTrace, OneRankSaysWhichItIs) {
  EXPECT_FALSE(Json::parse(chrome_trace(two_ranks())).contains("distributedInfo"));
  const Json one = Json::parse(chrome_trace(of_process(two_ranks(), 1)));
  EXPECT_EQ(one["distributedInfo"]["rank"], 1);
  EXPECT_EQ(one["distributedInfo"]["world_size"], 2);
}

TEST(ChromeTrace, KinetoNamesWhatItsToolsLookFor) {
  const Json events = events_of(two_ranks(), {.kineto = true});
  const auto kernels = with(events, "cat", "kernel");
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(kernels[1]["name"], "ncclKernel_send 3");
  EXPECT_EQ(kernels[1]["args"]["stream"], 2);
  EXPECT_EQ(check_trace(chrome_trace(two_ranks(), {.kineto = true})).num_faults, 0);
}

TEST(ChromeTrace, ExactTimesHaveEveryPicosecond) {
  const auto slices = with(events_of(two_ranks(), {.exact = true}), "ph", "X");
  EXPECT_DOUBLE_EQ(slices[4]["dur"], 0.300001);
  EXPECT_DOUBLE_EQ(slices[5]["ts"], 2.000001);
  EXPECT_DOUBLE_EQ(with(events_of(two_ranks()), "ph", "X")[4]["dur"], 0.3);
}

// Why times are rounded: to a reader that rounds start and length each on its own, slices that
// meet at a part of a nanosecond cross.
TEST(ChromeTrace, ExactTimesOfSlicesThatMeetCanCross) {
  Timeline t;
  t.lanes = {{0, "rank 0", "compute"}};
  t.slices = {{0, 600, 11'200}, {0, 11'200, 40'000}};
  EXPECT_EQ(check_trace(chrome_trace(t)).num_faults, 0);
  const TraceCheck exact = check_trace(chrome_trace(t, {.exact = true}));
  ASSERT_EQ(exact.num_faults, 1);
  EXPECT_EQ(exact.faults[0],
            "event 5 (X \"other\"): it starts at 11 ns in event 4 and ends 28 ns after it");
}

RC_GTEST_PROP(ChromeTrace, EveryTimelineGivesATraceThatIsTakenWhole, ()) {
  const Timeline t = testing::make_timeline(*rc::gen::element(1, 17, 1000, 1'000'000));
  RC_ASSERT(first_fault(t) == "");
  const bool kineto = *rc::gen::arbitrary<bool>();
  const TraceCheck check = check_trace(chrome_trace(t, {.kineto = kineto}));
  if (!check.faults.empty()) RC_FAIL(check.faults[0]);
  std::set<int> processes;
  for (const Lane& lane : t.lanes) processes.insert(lane.process);
  RC_ASSERT(check.num_slices ==
            static_cast<std::int64_t>(t.slices.size() + processes.size() * t.marks.size()));
  RC_ASSERT(check.num_flows == static_cast<std::int64_t>(t.flows.size()));
}

TEST(ChromeTrace, AFileIsZippedByItsName) {
  const TemporaryFolder folder;
  const std::string plain = folder / "a.json";
  const std::string zipped = folder / "a.json.gz";
  write_chrome_trace(plain, two_ranks());
  write_chrome_trace(zipped, two_ranks());
  EXPECT_EQ(std::filesystem::file_size(plain), chrome_trace(two_ranks()).size());
  EXPECT_LT(std::filesystem::file_size(zipped), std::filesystem::file_size(plain));
  EXPECT_EQ(check_trace_file(plain).num_slices, 6);
  EXPECT_EQ(check_trace_file(zipped).num_slices, 6);
  EXPECT_EQ(check_trace_file(zipped).num_faults, 0);
  EXPECT_THROW(check_trace_file(folder / "none.json"), Errors);
}

}  // namespace
}  // namespace nereus::timeline::chrome_trace_test
