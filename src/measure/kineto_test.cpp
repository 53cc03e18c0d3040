#include "measure/kineto.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/error.hpp"
#include "base/gzip.hpp"
#include "base/temporary_folder.hpp"
#include "measure/trace_file.hpp"

namespace nereus::measure::kineto_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Trace read(const std::string& text) {
  std::istringstream in(text);
  return read_kineto(in, "t.json");
}

std::string code_of(const std::string& text) {
  try {
    read(text);
  } catch (const Errors& errors) {
    return errors.list().front().code;
  }
  return "";
}

std::string event(const std::string& category, const std::string& name, int start, int length) {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name +
         R"(", "pid": 1, "tid": 2, "ts": )" + std::to_string(start) + R"(, "dur": )" +
         std::to_string(length) + R"(, "args": {"ts": 7, "name": "no"}})";
}

std::string object(const std::string& events, const std::string& more = "") {
  return R"({"schemaVersion": 1, )" + more + R"("traceEvents": [)" + events + "]}";
}

TEST(Kineto, ReadsRankStepsAndKindsOfEvents) {
  const Trace trace = read(object(
      event("user_annotation", "ProfilerStep#4", 10, 100) + "," +
          event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                10, 5) +
          "," + event("cpu_op", "aten::mm", 20, 30) + "," +
          event("cpu_op", "c10d::allreduce_", 50, 1) + "," +
          event("cpu_op", "gloo:all_reduce", 51, 9) + "," +
          event("python_function", "train.py: main", 0, 1000),
      R"("distributedInfo": {"backend": "gloo", "rank": 1, "world_size": 2, "pg": {"rank": 9}}, )"));
  EXPECT_EQ(trace.rank, 1);
  EXPECT_EQ(trace.num_ranks, 2);
  EXPECT_EQ(trace.backend, "gloo");
  EXPECT_FALSE(trace.on_gpu);
  ASSERT_EQ(trace.steps.count(4), 1u);
  EXPECT_EQ(trace.steps.at(4), (Span{10000, 110000}));
  EXPECT_THAT(trace.loading, ElementsAre(Span{10000, 15000}));
  EXPECT_THAT(trace.work, ElementsAre(Span{20000, 50000}));
  EXPECT_THAT(trace.collectives, ElementsAre(Span{51000, 60000}));
}

TEST(Kineto, OnGpusKernelsAreTheWork) {
  const Trace trace =
      read(object(event("cpu_op", "aten::mm", 0, 30) + "," + event("kernel", "sgemm_128x64", 5, 9) +
                  "," + event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, 10) + "," +
                  event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1, 2) + "," +
                  event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 40, 2) + "," +
                  event("gpu_user_annotation", "ProfilerStep#1", 3, 3)));
  EXPECT_TRUE(trace.on_gpu);
  EXPECT_EQ(trace.rank, -1);
  EXPECT_THAT(trace.work, ElementsAre(Span{5000, 14000}, Span{40000, 42000}));
  EXPECT_THAT(trace.collectives, ElementsAre(Span{20000, 30000}));
  EXPECT_THAT(trace.copies, ElementsAre(Span{1000, 3000}));
  EXPECT_THAT(trace.steps, IsEmpty());
}

TEST(Kineto, AnArrayWithoutCategoriesIsAProfilerWithoutKineto) {
  const Trace trace = read(
      R"([{"name": "ProfilerStep#7", "ph": "X", "ts": 1, "dur": 9, "tid": 1, "pid": "CPU functions"},
          {"name": "aten::add", "ph": "X", "ts": 2, "dur": 3, "tid": 1, "pid": "CPU functions"}])");
  EXPECT_EQ(trace.steps.size(), 1u);
  EXPECT_THAT(trace.work, ElementsAre(Span{2000, 5000}));
}

TEST(Kineto, EventsThatAreNoneAreLeftOut) {
  const Trace trace =
      read(object(R"(1, "x", [], {"ph": "X"}, {"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1,
        "dur": -1}, {"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1e300, "dur": 1}, )" +
                  event("user_annotation", "ProfilerStep#x", 0, 1)));
  EXPECT_THAT(trace.work, IsEmpty());
  EXPECT_THAT(trace.steps, IsEmpty());
}

TEST(Kineto, SaysWhatIsWrong) {
  const std::string whole = object(event("cpu_op", "aten::mm", 0, 30));
  for (const std::size_t size : {whole.size() - 1, whole.size() - 30, std::size_t{20}})
    EXPECT_EQ(code_of(whole.substr(0, size)), "measure.trace-truncated") << size;
  EXPECT_EQ(code_of(object("{,}")), "measure.trace-broken");
  EXPECT_EQ(code_of("trace"), "measure.trace-broken");
  EXPECT_EQ(code_of(""), "measure.trace-broken");
  EXPECT_EQ(code_of(R"({"events": []})"), "measure.no-trace");
  EXPECT_EQ(code_of("3"), "measure.no-trace");
}

class ZippedTrace : public ::testing::Test {
 protected:
  Trace read_bytes(const std::string& bytes) {
    const std::string path = folder_.write("trace.json.gz", bytes);
    TraceFile file(path);
    std::istream in(&file);
    try {
      return read_kineto(in, path);
    } catch (const Errors&) {
      file.throw_if_broken();
      throw;
    }
  }
  std::string code(const std::string& bytes) {
    try {
      read_bytes(bytes);
    } catch (const Errors& errors) {
      return errors.list().front().code;
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(ZippedTrace, IsReadAsItIsUnzipped) {
  std::string events = event("user_annotation", "ProfilerStep#1", 0, 9);
  for (int i = 0; i < 5000; ++i) events += "," + event("cpu_op", "aten::mm", i, i % 7);
  const std::string bytes = gzip(object(events));
  EXPECT_EQ(read_bytes(bytes).work.size(), 5000u);
  EXPECT_EQ(read_bytes(object(events)).work.size(), 5000u);
  EXPECT_EQ(code(bytes.substr(0, bytes.size() / 2)), "measure.trace-truncated");
  std::string broken = bytes;
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 40; ++i) broken[i] = 'x';
  EXPECT_EQ(code(broken), "measure.trace-broken");
}

// Else what they take would be in no part of the step.
TEST(Kineto, CopiesToTheDeviceAloneTellThatThereIsOne) {
  const Trace trace = read(object(event("user_annotation", "ProfilerStep#1", 0, 9) + "," +
                                  event("gpu_memcpy", "Memcpy HtoD", 2, 3)));
  EXPECT_TRUE(trace.on_gpu);
  EXPECT_EQ(trace.copies.size(), 1u);
}

TEST(TraceFile, SaysThatThereIsNone) {
  EXPECT_THROW(TraceFile("/nowhere/t.json"), Errors);
  const TemporaryFolder folder;
  EXPECT_THROW(TraceFile{folder.path()}, Errors);
}

}  // namespace
}  // namespace nereus::measure::kineto_test
