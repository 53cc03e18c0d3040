#include "simulate/pipeline/order_file.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"
#include "simulate/pipeline/pipeline_play.hpp"

namespace nereus::simulate::order_file_test {
namespace {

using plan::Schedule;

Error first_error(std::string_view text) {
  try {
    parse_order(text, "a.order");
  } catch (const Errors& errors) {
    return errors.list().front();
  }
  ADD_FAILURE() << "no error in " << text;
  return {};
}

TEST(OrderFile, ReadsAnOrder) {
  const OrderFile file = parse_order(
      "# a comment\n\nrank 1: F0 B0 F1 B1\t# another\r\n rank 0 :F0 F1+B0 B1\n", "a.order");
  EXPECT_EQ(file.size, (PipelineSize{2, 1, 2}));
  EXPECT_EQ(file.order[0][1], (PipelineOp{Pass::kForward, 0, 1, true}));
  EXPECT_EQ(file.order[1], schedule::one_f_one_b_order({2, 1, 2})[1]);
  EXPECT_EQ(write_order(file.order), "rank 0: F0 F1+ B0 B1\nrank 1: F0 B0 F1 B1\n");
}

TEST(OrderFile, NamesStagesOfSeveralOnARank) {
  const OrderFile file = parse_order("rank 0: F0 F0@1 R0@1 I0@1 W0@1 B0\n", "a.order");
  EXPECT_EQ(file.size, (PipelineSize{1, 2, 1}));
  EXPECT_EQ(file.order[0][3], (PipelineOp{Pass::kInput, 1, 0}));
}

RC_GTEST_PROP(OrderFile, WhatItWritesItReads, ()) {
  const Schedule schedule = *rc::gen::element(
      Schedule::kGpipe, Schedule::k1f1b, Schedule::kInterleaved, Schedule::kLoopedBfs,
      Schedule::kVaruna, Schedule::kZbH1, Schedule::kZbH2, Schedule::kZbV, Schedule::kDualPipe);
  PipelineSize size{2 * *rc::gen::inRange(1, 5), 1, 0};
  if (schedule == Schedule::kZbV) size.chunks = 2;
  if (schedule == Schedule::kInterleaved) size.chunks = *rc::gen::inRange(1, 4);
  size.micro_batches = size.depth * *rc::gen::inRange(2, 5);
  const OrderFile made{size, make_order(schedule, size)};
  RC_ASSERT(parse_order(write_order(made.order), "a.order") == made);
}

// A good order with some characters changed is read or refused, and never anything else.
RC_GTEST_PROP(OrderFile, SpoiltTextIsReadOrRefused, ()) {
  std::string text = write_order(schedule::varuna_order({3, 1, 4}));
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
    text[*rc::gen::inRange(0, static_cast<int>(text.size()))] =
        *rc::gen::elementOf(std::string("FBIWRrank 0123456789:@+#\n"));
  try {
    const OrderFile file = parse_order(text, "a.order");
    RC_ASSERT(parse_order(write_order(file.order), "b.order") == file);
    play(file.order, file.size, equal_times(file.size, {1, 1, 1, 1, 1, 1}));
  } catch (const Errors& errors) {
    RC_ASSERT(!errors.list().empty());
    for (const Error& error : errors.list()) RC_ASSERT(error.where.file == "a.order");
  }
}

TEST(OrderFile, SaysWhereTheTextIsWrong) {
  struct Case {
    const char* text;
    int line, column;
  };
  for (const Case& c :
       {Case{"F0 B0", 1, 1}, Case{"rank: F0", 1, 5}, Case{"rank 0 F0", 1, 8},
        Case{"\n  rank 0: F0 X0", 2, 14}, Case{"rank 0: F B0", 1, 10},
        Case{"rank 0: F0@ B0", 1, 12}, Case{"rank 0: F0B0", 1, 11}, Case{"rank 0: F0 B0+", 1, 15},
        Case{"rank 0: F0+F1+B0 B1", 1, 12}, Case{"rank 0:", 1, 1},
        Case{"rank 0: F0 B0\nrank 0: F0 B0", 2, 1}, Case{"rank 0: F99999999999 B0", 1, 10},
        Case{"rank -1: F0", 1, 6}, Case{"rank 0: F1000001", 1, 10}}) {
    const Error error = first_error(c.text);
    EXPECT_EQ(error.code, "simulate.order-syntax") << c.text;
    EXPECT_EQ(error.where.line, c.line) << c.text;
    EXPECT_EQ(error.where.column, c.column) << c.text;
    EXPECT_FALSE(error.hint.empty()) << c.text;
  }
}

TEST(OrderFile, SaysWhatIsMissing) {
  for (const char* text :
       {"", "# nothing\n", "rank 1: F0 B0", "rank 0: F0 B0@1", "rank 0: F1000000@1000000 B0",
        "rank 0: F0 F0@1 F0@2 B0@2 B0@1 B0\n"
        "rank 1: F1 B1"})
    EXPECT_EQ(first_error(text).code, "simulate.order-size") << text;
  EXPECT_EQ(first_error("rank 0: F0 R0 F1 B1").code, "simulate.order-pass");
}

TEST(OrderFile, SaysWhichPassIsTwiceOrOnTwoRanks) {
  const Error twice = first_error("rank 0: F0 B0 F1 B1 F0");
  EXPECT_EQ(twice.code, "simulate.order-pass");
  EXPECT_EQ(twice.where.column, 21);
  EXPECT_NE(twice.message.find("twice"), std::string::npos);
  const Error two = first_error("rank 0: F0 F1 B0 B1\nrank 1: F0 F1 B0 B1 F1@0");
  EXPECT_EQ(two.where.line, 2);
  EXPECT_NE(two.message.find("two ranks, 0 and 1"), std::string::npos);
  const Error apart = first_error("rank 0: F0 F1 F0@1 F1@1\nrank 1: B0@1 B1@1 B0@0 B1@0");
  EXPECT_NE(apart.message.find("its forward pass on rank 0"), std::string::npos);
  const Error again = first_error("rank 0: F0 B0\nrank 1: F0 B0 R0@0");
  EXPECT_NE(again.message.find("its forward pass on rank 0"), std::string::npos);
}

TEST(OrderFile, NamesTheCircle) {
  const Error error = first_error("rank 0: F0 B0 F1 B1\nrank 1: F1 B1 F0 B0");
  EXPECT_EQ(error.code, "simulate.order-cycle");
  EXPECT_EQ(error.message,
            "the order waits for itself: B0@0 on rank 0 waits for B0@1, which comes after F1@1 on "
            "rank 1; F1@1 on rank 1 waits for F1@0, which comes after B0@0 on rank 0");
  EXPECT_EQ(error.where.line, 1);
  EXPECT_EQ(error.where.column, 12);
  EXPECT_EQ(first_error("rank 0: B0 F0").message,
            "the order waits for itself: B0@0 on rank 0 waits for F0@0, which comes after B0@0 on "
            "rank 0");
}

}  // namespace
}  // namespace nereus::simulate::order_file_test
