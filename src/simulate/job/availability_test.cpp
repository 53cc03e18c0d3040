#include "simulate/job/availability.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "simulate/job/availability_file.hpp"

namespace nereus::simulate::availability_test {
namespace {

std::string code_of(const std::string& text, CountUnit unit = CountUnit::kUnknown) {
  try {
    parse_availability(text, "t.csv", unit);
  } catch (const Errors& errors) {
    return errors.list().front().code;
  }
  return "";
}

// Numbers that others counted in the same files (data/traces/SOURCES.md).
TEST(Availability, PublishedTracesAreReadWhole) {
  struct Known {
    const char* name;
    double hours;
    int added, removed, least, most;
    double mean;
  };
  const Known known[] = {
      {"bamboo/p3-trace.csv", 11.37, 177, 167, 10, 32, 24.03},
      {"bamboo/g4dn-trace.csv", 10.77 - 480 / 3600.0, 79, 74, 1, 24, 12.9},
      {"bamboo/gcloud_a100x1-east1b.txt", 27.02, 163, 154, 17, 64, 0},
      {"oobleck/1h.csv", 15, 30, 15, 15, 30, 23},
      {"oobleck/scale_p3-trace.csv", 11.37, 157, 142, 15, 30, 24.13},
      {"parcae/gpt-6.7b_trace_lh_80_90.txt", 1, 35, 17, 12, 24, 17.35},
      {"sailor/a100_trace_16.json", 3.62, 19 + 14, 21, 7, 14, 0},
  };
  for (const Known& own : known) {
    SCOPED_TRACE(own.name);
    const Availability trace = read_availability(own.name);
    EXPECT_EQ(first_fault(trace), "");
    const AvailabilitySummary summary = summary_of(trace);
    EXPECT_NEAR(trace.duration() / 3600, own.hours, 0.01);
    EXPECT_EQ(summary.most, own.most);
    if (own.mean > 0) {
      EXPECT_NEAR(summary.mean, own.mean, 0.2);
    }
    if (std::string(own.name).find("gcloud") != std::string::npos) {
      EXPECT_EQ(summary.least, own.least);
      continue;  // its first count is no change there
    }
    EXPECT_EQ(summary.least, own.least);
    EXPECT_EQ(summary.added, own.added);
    EXPECT_EQ(summary.removed, own.removed);
  }
}

TEST(Availability, AllTracesOfTheProgramAreValid) {
  EXPECT_GE(known_traces().size(), 17u);
  for (const std::string& name : known_traces()) {
    SCOPED_TRACE(name);
    const std::string unit = name == "bamboo/p2-2020-11-20.csv" ? "hours:" : "";
    EXPECT_EQ(first_fault(read_availability(unit + name)), "");
  }
}

TEST(Availability, FormsOfOurOwn) {
  const Availability events =
      parse_availability("seconds,event,node\n0,add,a\n0,add,b\n60,remove,a\n", "t.csv");
  EXPECT_EQ(events.nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(events.events[2], (AvailabilityEvent{60, 0, false}));
  const Availability counts = parse_availability("hours,machines\n0,2\n1,3\n2,1\n", "t.csv");
  EXPECT_EQ(summary_of(counts).node_hours, 5);
  EXPECT_EQ(counts.end, 7200);
  EXPECT_EQ(summary_of(read_availability("regular:30:1h:15")).node_hours,
            summary_of(read_availability("oobleck/1h.csv")).node_hours);
}

TEST(Availability, RefusesWhatItCannotRead) {
  EXPECT_EQ(code_of(""), "availability.empty");
  EXPECT_EQ(code_of("0,add,a\n0,add,a\n5,remove,a\n"), "availability.value");
  EXPECT_EQ(code_of("0,remove,a\n"), "availability.value");
  EXPECT_EQ(code_of("5,add,a\n0,add,b\n"), "availability.value");
  EXPECT_EQ(code_of("0,5\n1,6\n"), "availability.unit");
  EXPECT_EQ(code_of("0,5\n1,6\n", CountUnit::kHours), "");
  EXPECT_EQ(code_of("minutes,machines\n0,5\n"), "availability.value");
  EXPECT_EQ(code_of("0,add,a\n0,explode,a\n"), "availability.value");
  EXPECT_EQ(code_of("seconds,machines\n0,5\n1,2.5\n"), "availability.value");
  EXPECT_EQ(code_of("seconds,machines\n0,5\n"), "availability.empty");
  EXPECT_EQ(code_of("[0, \"add\", 3]\n"), "availability.value");
  EXPECT_EQ(code_of("[{\"Time\": 0}]"), "availability.value");
  EXPECT_EQ(code_of("2021-13-11, 11:11:30, 55\n"), "availability.value");
  EXPECT_THROW(read_availability("bamboo/p3-trace"), Errors);
  EXPECT_THROW(read_availability("regular:15:1h:30"), Errors);
  EXPECT_THROW(read_availability("poisson:10:1h"), Errors);
}

TEST(Availability, PoissonFailsAsOftenAsAsked) {
  const PoissonFailures wanted{.nodes = 200,
                               .mean_time_between_failures = 36000,
                               .repair = 600,
                               .duration = 36000 * 50,
                               .seed = 5};
  const Availability trace = poisson_failures(wanted);
  EXPECT_EQ(first_fault(trace), "");
  const AvailabilitySummary summary = summary_of(trace);
  const double expected = 200 * 50.0 * 36000 / 36600;
  EXPECT_NEAR(summary.removed, expected, 4 * std::sqrt(expected));
  EXPECT_NEAR(summary.mean, 200 * 36000.0 / 36600, 0.3);
  EXPECT_EQ(poisson_failures(wanted), trace);
}

RC_GTEST_PROP(Availability, CountsComeBackAsCounts, (const std::vector<std::uint8_t>& counts)) {
  std::vector<CountStep> steps;
  for (std::size_t i = 0; i < counts.size(); ++i)
    steps.push_back({static_cast<double>(i), counts[i] % 12});
  const Availability trace = from_counts("t", steps, static_cast<double>(counts.size()));
  RC_ASSERT(first_fault(trace).empty());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    int there = 0;
    for (const AvailabilityEvent& event : trace.events)
      if (event.time <= steps[i].time) there += event.added ? 1 : -1;
    RC_ASSERT(there == steps[i].count);
  }
}

}  // namespace
}  // namespace nereus::simulate::availability_test
