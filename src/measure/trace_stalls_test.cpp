#include "measure/trace_stalls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace nereus::measure::trace_stalls_test {
namespace {

constexpr std::int64_t kMs = 1000000;

// A rank whose steps load, work and then wait for a collective that began half a piece of work ago.
struct Part {
  int loading = 5, work = 50, collective = 20;  // ms; of the collective, what nothing hides
};

Trace trace_of(int rank, int num_ranks, const std::vector<Part>& steps) {
  Trace trace;
  trace.file = "rank.json";
  trace.rank = rank;
  trace.num_ranks = num_ranks;
  std::int64_t now = 1000 * kMs * (rank + 1);  // clocks of their own
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Part& part = steps[i];
    const std::int64_t begin = now;
    if (part.loading > 0) trace.loading.push_back({now, now + part.loading * kMs});
    trace.work.push_back(
        {now, now + part.loading * kMs / 2});  // of the loader: it waits all the same
    now += part.loading * kMs;
    trace.work.push_back({now, now + part.work * kMs});
    trace.work.push_back({now + kMs, now + 2 * kMs});  // within another
    if (num_ranks > 1)
      trace.collectives.push_back(
          {now + part.work * kMs / 2, now + (part.work + part.collective) * kMs});
    now += (part.work + part.collective) * kMs;
    trace.steps[static_cast<std::int64_t>(i) + 3] = {begin, now};
  }
  return trace;
}

TEST(TraceStalls, PartsAddUpToTheStep) {
  // Rank 1 works 10 ms longer, so that rank 0 waits for it.
  const std::vector<Part> quick = {{5, 50, 30}, {5, 52, 30}, {5, 51, 30}};
  const std::vector<Part> slow = {{5, 60, 20}, {5, 62, 20}, {5, 61, 20}};
  const StallReport report = stalls_of({trace_of(0, 2, quick), trace_of(1, 2, slow)});
  EXPECT_NEAR(report.step_s, 0.086, 1e-9);
  EXPECT_NEAR(report.alone_s, 0.051, 1e-9);
  EXPECT_NEAR(report.of(StallKind::kStraggler).seconds, 0.010, 1e-9);
  EXPECT_EQ(report.of(StallKind::kStraggler).rank, 1);
  EXPECT_NEAR(report.of(StallKind::kInterconnect).seconds, 0.020, 1e-9);
  EXPECT_NEAR(report.of(StallKind::kPrepare).seconds, 0.005, 1e-9);
  EXPECT_TRUE(report.of(StallKind::kInterconnect).significant);
  for (const StallKind kind : {StallKind::kLaunch, StallKind::kContention, StallKind::kNetwork,
                               StallKind::kHostCopy, StallKind::kFetch}) {
    EXPECT_FALSE(report.of(kind).measured) << to_string(kind);
    EXPECT_FALSE(report.of(kind).note.empty()) << to_string(kind);
  }
  EXPECT_EQ(report.rounds, 3);
}

TEST(TraceStalls, ALoaderThatHoldsOneRankUpIsNoWire) {
  const std::vector<Part> held = {{40, 50, 5}, {40, 50, 5}}, waits = {{2, 50, 43}, {2, 50, 43}};
  const StallReport report = stalls_of({trace_of(0, 2, held), trace_of(1, 2, waits)});
  EXPECT_NEAR(report.of(StallKind::kPrepare).seconds, 0.040, 1e-9);
  EXPECT_NEAR(report.of(StallKind::kInterconnect).seconds, 0.005, 1e-9);
}

TEST(TraceStalls, OneRankOfSeveralSaysSo) {
  const StallReport report = stalls_of({trace_of(1, 2, {{}, {}, {}})});
  EXPECT_EQ(report.num_ranks, 2);
  EXPECT_FALSE(report.of(StallKind::kStraggler).measured);
  EXPECT_TRUE(report.of(StallKind::kInterconnect).measured);
  EXPECT_THAT(report.notes, ::testing::Contains(::testing::HasSubstr("1 of 2 ranks")));
}

TEST(TraceStalls, OneRankHasNobodyToWaitFor) {
  const StallReport report = stalls_of({trace_of(0, 1, {{5, 50, 0}, {5, 50, 0}})});
  EXPECT_FALSE(report.of(StallKind::kInterconnect).measured);
  EXPECT_EQ(report.of(StallKind::kInterconnect).note, "one rank");
  EXPECT_NEAR(report.alone_s, 0.050, 1e-9);
}

TEST(TraceStalls, ALoneRankMayCommunicateWithItself) {
  Trace trace = trace_of(0, 2, {{5, 50, 20}, {5, 50, 20}});
  trace.num_ranks = 1;
  const StallReport report = stalls_of({trace});
  EXPECT_NEAR(report.of(StallKind::kInterconnect).seconds, 0.020, 1e-9);
  EXPECT_FALSE(report.of(StallKind::kStraggler).measured);
}

TEST(TraceStalls, OnAGpuWhatIsHiddenCostsNothing) {
  Trace trace;
  trace.on_gpu = true;
  trace.rank = 0;
  trace.num_ranks = 2;
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::int64_t t = step * 100 * kMs;
    trace.steps[step] = {t, t + 100 * kMs};
    trace.loading.push_back({t, t + 20 * kMs});                 // the device works for half of it
    trace.work.push_back({t, t + 10 * kMs});                    // kernels of the step before
    trace.copies.push_back({t + 20 * kMs, t + 25 * kMs});       // nothing else
    trace.work.push_back({t + 30 * kMs, t + 80 * kMs});         // after 5 ms without anything
    trace.collectives.push_back({t + 60 * kMs, t + 90 * kMs});  // and 10 ms more at the end
  }
  const StallReport report = stalls_of({trace});
  EXPECT_NEAR(report.of(StallKind::kPrepare).seconds, 0.010, 1e-9);
  EXPECT_NEAR(report.of(StallKind::kHostCopy).seconds, 0.005, 1e-9);
  EXPECT_NEAR(report.of(StallKind::kInterconnect).seconds, 0.010, 1e-9);
  EXPECT_NEAR(report.of(StallKind::kLaunch).seconds, 0.015, 1e-9);
  EXPECT_NEAR(report.alone_s, 0.075, 1e-9);
}

TEST(TraceStalls, NeedsStepsThatAllRanksHave) {
  const auto code = [](const std::vector<Trace>& traces) {
    try {
      stalls_of(traces);
    } catch (const Errors& errors) {
      return errors.list().front().code;
    }
    return std::string();
  };
  Trace other = trace_of(1, 2, {{}, {}, {}});
  std::map<std::int64_t, Span> later;
  for (const auto& [number, span] : other.steps) later[number + 100] = span;
  other.steps = later;
  EXPECT_EQ(code({trace_of(0, 2, {{}, {}, {}}), other}), "measure.trace-steps");
  EXPECT_EQ(code({trace_of(0, 2, {{}})}), "measure.trace-steps");
  EXPECT_EQ(code({trace_of(0, 2, {})}), "measure.trace-steps");
}

}  // namespace
}  // namespace nereus::measure::trace_stalls_test
