#include "timeline/check_trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "timeline/chrome_trace.hpp"
#include "timeline/timeline_testing.hpp"

namespace nereus::timeline::check_trace_test {
namespace {

using Json = nlohmann::json;

constexpr const char* kNames =
    R"({"ph":"M","pid":1,"tid":1,"name":"process_name","args":{"name":"p"}},)"
    R"({"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"t"}})";

// The first fault of a trace with these events beside the names; empty where there is none.
std::string fault(const std::string& events) {
  const TraceCheck check = check_trace(fmt::format("[{},{}]", kNames, events));
  EXPECT_EQ(check.faults.empty(), check.num_faults == 0);
  return check.faults.empty() ? "" : check.faults[0];
}

std::string slice(double ts, double dur) {
  return fmt::format(R"({{"ph":"X","pid":1,"tid":1,"ts":{},"dur":{},"name":"a"}})", ts, dur);
}

TEST(CheckTrace, GoodTracesPass) {
  EXPECT_EQ(fault(slice(0, 5)), "");
  EXPECT_EQ(fault(slice(0, 5) + "," + slice(5, 3)), "");
  EXPECT_EQ(fault(slice(0, 5) + "," + slice(1, 4)), "");  // nested, equal end
  EXPECT_EQ(fault(slice(5, 1) + "," + slice(0, 5)), "");  // any order in the file
  EXPECT_EQ(
      fault(R"({"ph":"B","pid":1,"tid":1,"ts":1,"name":"a"},{"ph":"E","pid":1,"tid":1,"ts":2})"),
      "");
  EXPECT_EQ(check_trace(R"({"other":[1,{"ph":"?"}],"traceEvents":[]})").num_faults, 0);
}

TEST(CheckTrace, WhatIsNoTraceIsRefused) {
  for (const char* text : {"", "{", "[", "[1]", "{}", "3", "null", R"({"traceEvents":{}})",
                           R"({"traceEvents":3})", "[[]]", "[{}]", R"([{"ph":7}])", "[{}] x"})
    EXPECT_GT(check_trace(text).num_faults, 0) << text;
}

TEST(CheckTrace, EveryRuleIsHeld) {
  EXPECT_NE(fault(R"({"ph":"Q","pid":1,"tid":1,"ts":0})"), "");
  EXPECT_NE(fault(R"({"ph":"X","pid":1,"tid":1,"ts":0,"name":"no dur"})"), "");
  EXPECT_NE(fault(R"({"ph":"X","pid":1,"tid":1,"dur":0,"name":"no ts"})"), "");
  EXPECT_NE(fault(slice(0, -1)), "");
  EXPECT_NE(fault(slice(-1, 1)), "");
  EXPECT_NE(fault(slice(0, 5) + "," + slice(4, 3)), "");
  EXPECT_NE(fault(slice(0, 1) + "," + slice(0.999, 3)), "");
  EXPECT_NE(fault(R"({"ph":"B","pid":1,"tid":1,"ts":0,"name":"open"})"), "");
  EXPECT_NE(fault(R"({"ph":"E","pid":1,"tid":1,"ts":0})"), "");
  EXPECT_NE(fault(R"({"ph":"C","pid":1,"ts":0,"name":"m"})"), "");
  EXPECT_NE(fault(R"({"ph":"C","pid":1,"ts":0,"name":"m","args":{}})"), "");
  EXPECT_NE(fault(R"({"ph":"C","pid":1,"ts":0,"name":"m","args":{"v":"x"}})"), "");
  EXPECT_NE(fault(R"({"ph":"C","pid":1,"ts":0,"name":"m","args":{"v":1,"w":{"x":1}}})"), "");
  EXPECT_NE(fault(R"({"ph":"X","pid":2,"tid":1,"ts":0,"dur":1,"name":"a"})"), "");  // no names
  EXPECT_NE(fault(R"({"ph":"X","pid":1,"tid":2,"ts":0,"dur":1,"name":"a"})"), "");
  EXPECT_NE(fault(R"({"ph":"M","pid":1,"tid":1,"name":"process_name"})"), "");
}

TEST(CheckTrace, FlowsNeedTheirPartnerAndASlice) {
  const auto flow = [](char phase, double ts, int id, const char* more = "") {
    return fmt::format(R"({{"ph":"{}","pid":1,"tid":1,"ts":{},"id":{},"cat":"c","name":"n"{}}})",
                       phase, ts, id, more);
  };
  const char* enclosing = R"(,"bp":"e")";
  const std::string s = slice(0, 10) + "," + slice(20, 10) + ",";
  EXPECT_EQ(fault(s + flow('s', 1, 1) + "," + flow('f', 20, 1, enclosing)), "");
  EXPECT_EQ(fault(s + flow('s', 10, 1) + "," + flow('f', 15, 1)), "");  // binds to the next
  EXPECT_NE(fault(s + flow('s', 1, 1)), "");
  EXPECT_NE(fault(s + flow('f', 1, 1, enclosing)), "");
  EXPECT_NE(fault(s + flow('s', 1, 1) + "," + flow('f', 20, 2, enclosing)), "");
  EXPECT_NE(fault(s + flow('s', 15, 1) + "," + flow('f', 20, 1, enclosing)), "");
  EXPECT_NE(fault(s + flow('s', 1, 1) + "," + flow('f', 15, 1, enclosing)), "");
  EXPECT_NE(fault(s + flow('s', 1, 1) + "," + flow('f', 40, 1)), "");
  EXPECT_NE(fault(s + flow('s', 25, 1) + "," + flow('f', 5, 1, enclosing)), "");
  EXPECT_NE(fault(s + flow('s', 1, 1) + "," + flow('s', 2, 1) + "," + flow('f', 20, 1, enclosing)),
            "");
  EXPECT_NE(fault(s + R"({"ph":"s","pid":1,"tid":1,"ts":1,"cat":"c","name":"n"})"), "");
}

// A good trace with one event spoilt is refused, whatever is spoilt.
RC_GTEST_PROP(CheckTrace, SpoiltTracesAreRefused, ()) {
  Timeline t = testing::make_timeline(1'000'000);
  t.slices.push_back({0, t.end() + 1'000'000, t.end() + 90'000'000});
  t.flows.push_back({0, t.end(), 0, t.end(), 5, "last"});
  Json json = Json::parse(chrome_trace(t));
  Json& events = json["traceEvents"];
  RC_PRE(check_trace(json.dump()).num_faults == 0);
  const auto pick = [&](const std::string& phases) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < events.size(); ++i)
      if (phases.find(events[i]["ph"].get<std::string>()) != std::string::npos) found.push_back(i);
    RC_PRE(!found.empty());
    return *rc::gen::elementOf(found);
  };
  switch (*rc::gen::inRange(0, 9)) {
    case 0:
      events[pick("XCsfM")]["ph"] = "z";
      break;
    case 1:
      events[pick("X")].erase("dur");
      break;
    case 2:
      events[pick("X")]["dur"] = -0.5;
      break;
    case 3:
      events[pick("XsfC")].erase("ts");
      break;
    case 4:
      events.erase(pick("sf"));
      break;
    case 5:
      events[pick("sf")]["id"] = 987654;
      break;
    case 6:
      events[pick("C")]["args"] = Json{{"bytes", "many"}};
      break;
    case 7: {  // a slice that starts inside the last one and ends after it
      Json crossing = events[pick("X")];
      crossing["pid"] = 0;
      crossing["tid"] = 1;
      crossing["ts"] = static_cast<double>(t.end()) * 1e-6 - 10;
      crossing["dur"] = 11;
      events.push_back(crossing);
      break;
    }
    default:
      for (std::size_t i = events.size(); i-- > 0;)
        if (events[i]["name"] == "thread_name") events.erase(i);
  }
  RC_ASSERT(check_trace(json.dump()).num_faults > 0);
}

TEST(CheckTrace, ManyFaultsAreCountedAndAFewSpelt) {
  std::string events = kNames;
  for (int i = 0; i < 100; ++i) events += "," + slice(i, -1);
  const TraceCheck check = check_trace("[" + events + "]");
  EXPECT_EQ(check.num_faults, 100);
  EXPECT_EQ(check.faults.size(), kMostFaults);
}

}  // namespace
}  // namespace nereus::timeline::check_trace_test
