#include "measure/what_if.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/error.hpp"

namespace nereus::measure::what_if_test {
namespace {

// 100 ms of work of which 40 are launches, 30 ms of talk, 50 ms more on warm and 60 on cold files.
MeasuredStep some_step() {
  MeasuredStep now;
  StallReport& r = now.report;
  for (int i = 0; i < kNumStalls; ++i) r.stalls.push_back({.kind = static_cast<StallKind>(i)});
  const auto set = [&](StallKind kind, double seconds) {
    Stall& stall = r.stalls[static_cast<std::size_t>(kind)];
    stall.measured = stall.significant = true;
    stall.seconds = seconds;
    stall.low = 0.9 * seconds;
    stall.high = 1.1 * seconds;
  };
  r.alone_s = 0.1;
  set(StallKind::kLaunch, 0.04);
  set(StallKind::kInterconnect, 0.03);
  set(StallKind::kPrepare, 0.05);
  set(StallKind::kFetch, 0.06);
  r.at_hand_s = 0.13;
  r.warm_s = 0.18;
  r.step_s = 0.24;
  r.num_ranks = 2;
  now.parameters = 1e5;  // one bucket: all of it after backward
  return now;
}

double step_with(const MeasuredStep& now, const std::vector<Change>& changes) {
  return what_if(now, changes).seconds;
}

TEST(WhatIf, TheSlowestOfThreeSetsThePace) {
  const MeasuredStep now = some_step();
  EXPECT_DOUBLE_EQ(step_with(now, {}), 0.24);
  EXPECT_DOUBLE_EQ(step_with(now, {{ChangeKind::kCores, 2}}), 0.24);  // the disk is slower
  EXPECT_DOUBLE_EQ(step_with(now, {{ChangeKind::kDisk, 1.2}}), 0.2);
  EXPECT_DOUBLE_EQ(step_with(now, {{ChangeKind::kDisk, 4}}), 0.18);  // then preparing is
  EXPECT_DOUBLE_EQ(step_with(now, {{ChangeKind::kCached, 0.1}}), 0.9 * 0.24);
  EXPECT_DOUBLE_EQ(step_with(now, {{ChangeKind::kCached, 1}, {ChangeKind::kCores, 1.2}}), 0.15);
  EXPECT_DOUBLE_EQ(step_with(now, {{ChangeKind::kCached, 1}, {ChangeKind::kCores, 9}}), 0.13);
  EXPECT_DOUBLE_EQ(step_with(now, {{ChangeKind::kDisk, 0.5}}), 0.48);
}

TEST(WhatIf, TalkIsWhatBackwardDoesNotHide) {
  MeasuredStep now = some_step();
  for (const StallKind kind : {StallKind::kPrepare, StallKind::kFetch})
    now.report.stalls[static_cast<std::size_t>(kind)] = {.kind = kind};
  now.report.step_s = now.report.warm_s = 0.13;
  // One bucket: a latency and bytes.
  EXPECT_NEAR(step_with(now, {{ChangeKind::kLinks, 2}}),
              0.1 + kSumLatency + (0.03 - kSumLatency) / 2, 1e-9);
  EXPECT_NEAR(step_with(now, {{ChangeKind::kDevice, 2}}), 0.04 + 0.03 + 0.03, 1e-9);
  // A hundred buckets: the first starts after a hundredth of backward's 66.7 ms, and the last ends
  // 30 ms after it.
  now.parameters = 25e6;
  now.bucket_bytes = 1e6;
  const double backward = 0.1 * 2 / 3, first = backward / 100;
  const double bytes = backward + 0.03 - first - 100 * kSumLatency;
  EXPECT_NEAR(what_if(now, {{ChangeKind::kLinks, 0.5}}).talk,
              first + 2 * bytes + 100 * kSumLatency - backward, 1e-9);
  EXPECT_LT(what_if(now, {{ChangeKind::kLinks, 2}}).talk, 2e-3);  // hidden, but for the last
  // One after the first of 1 MiB: nothing of it is hidden.
  EXPECT_NEAR(what_if(now, {{ChangeKind::kBucket, 1e9}}).talk,
              bytes * (1 - 1.048576 / 100) + kSumLatency, 1e-9);
}

TEST(WhatIf, WhatIsHiddenMayBeAnythingThatHidesIt) {
  MeasuredStep now = some_step();
  for (const StallKind kind : {StallKind::kPrepare, StallKind::kFetch})
    now.report.stalls[static_cast<std::size_t>(kind)].significant = false;
  const ChangedStep fewer = what_if(now, {{ChangeKind::kCores, 0.5}});
  EXPECT_DOUBLE_EQ(fewer.seconds, now.report.step_s);
  EXPECT_NEAR(fewer.high, now.report.step_s + 0.133, 1e-9);  // as long as the step, and talk's end
  EXPECT_NE(fewer.scales.find("hidden"), std::string::npos);
}

RC_GTEST_PROP(WhatIf, MoreOfAnythingIsNeverSlower, ()) {
  MeasuredStep now = some_step();
  for (Stall& stall : now.report.stalls) {
    stall.significant = *rc::gen::arbitrary<bool>();
    stall.seconds = *rc::gen::inRange(-10, 100) / 1e3;
  }
  now.parameters = *rc::gen::inRange(0, 1000) * 1e5;
  now.bucket_bytes = *rc::gen::inRange(1, 100) * 1e6;
  for (const ChangeKind kind :
       {ChangeKind::kCores, ChangeKind::kDisk, ChangeKind::kLinks, ChangeKind::kDevice}) {
    const double slow = *rc::gen::inRange(1, 40) / 10.0;
    const double quick = slow + *rc::gen::inRange(1, 40) / 10.0;
    RC_ASSERT(step_with(now, {{kind, quick}}) <= step_with(now, {{kind, slow}}) + 1e-9);
  }
  RC_ASSERT(std::abs(step_with(now, {}) - now.report.step_s) < 1e-12);
}

TEST(WhatIf, ChangesAndFilesThatAreNoneAreErrors) {
  EXPECT_EQ(parse_change("cores=2x"), (Change{ChangeKind::kCores, 2}));
  EXPECT_EQ(parse_change("bucket=4MiB"), (Change{ChangeKind::kBucket, 4 << 20}));
  EXPECT_EQ(parse_change("cached=0.25"), (Change{ChangeKind::kCached, 0.25}));
  for (const char* text : {"core=2", "cores", "cores=0", "cores=two", "cached=2", "bucket=-1", "="})
    EXPECT_THROW(parse_change(text), Errors) << text;
  EXPECT_THROW(read_stall_file("{\"ranks\": 2}", "x.json"), Errors);
  EXPECT_THROW(read_stall_file("{", "x.json"), Errors);
}

}  // namespace
}  // namespace nereus::measure::what_if_test
