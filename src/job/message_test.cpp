#include "job/message.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/base_testing.hpp"

namespace nereus::job::message_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::ElementsAre;

double any_seconds() { return *rc::gen::inRange(0, 1 << 30) / 1024.0 / 3.0; }
std::string any_text() {
  return *rc::gen::element<std::string>("", "all-reduce 17", "\"quoted\"\n\\", "größe");
}

Message any_message() {
  Message m;
  m.kind = static_cast<MessageKind>(*rc::gen::inRange(0, 7));
  m.rank = *rc::gen::inRange(0, 1 << 20);
  switch (m.kind) {
    case MessageKind::kHello:
      m.pid = *rc::gen::inRange(1, 1 << 22);
      m.build = any_text();
      m.library = any_text();
      break;
    case MessageKind::kAlive:
      m.operation = *rc::gen::inRange<std::int64_t>(0, 1LL << 60);
      m.doing = any_text();
      break;
    case MessageKind::kStep:
      m.step = *rc::gen::inRange<std::int64_t>(0, 1LL << 60);
      m.loss = any_seconds() - 100;
      m.gradient_norm = *rc::gen::element(0.0, 1.5, INFINITY);
      m.rate = any_seconds();
      m.seconds = any_seconds();
      m.tokens = *rc::gen::inRange<std::int64_t>(0, 1LL << 60);
      m.memory_bytes = any_seconds();
      m.waits = {any_seconds(), any_seconds(), any_seconds(),
                 any_seconds(), any_seconds(), any_seconds()};
      break;
    case MessageKind::kCheckpoint:
      m.step = *rc::gen::inRange(0, 100);
      m.folder = any_text();
      break;
    case MessageKind::kBlock:
      m.block = *rc::gen::elementOf(std::vector<Block>(std::begin(kBlocks), std::end(kBlocks)));
      m.round = *rc::gen::inRange(0, 100);
      m.of_rank = *rc::gen::inRange(0, 1 << 20);
      m.host = *rc::gen::inRange(0, 1 << 20);
      m.seconds = any_seconds();
      m.slowest = any_seconds();
      m.bytes = any_seconds();
      m.count = *rc::gen::inRange(0, 1 << 20);
      break;
    case MessageKind::kError:
      m.code = any_text();
      m.message = any_text();
      m.hint = any_text();
      m.missing_rank = *rc::gen::inRange(-1, 9);
      m.input_error = *rc::gen::arbitrary<bool>();
      m.environment_error = *rc::gen::arbitrary<bool>();
      break;
    case MessageKind::kDone:
      break;
  }
  return m;
}

RC_GTEST_PROP(Message, ReadsBackEqualAndIsOneLine, ()) {
  const Message message = any_message();
  const std::string line = to_line(message);
  RC_ASSERT(line.find('\n') == std::string::npos);
  RC_ASSERT(parse_line(line) == message);
}

TEST(Message, FieldsOfOtherKindsAreLeftOut) {
  Message message{.kind = MessageKind::kDone, .rank = 3};
  message.loss = 4;
  EXPECT_EQ(to_line(message), R"({"kind":"done","rank":3})");
  EXPECT_THAT(codes_of([] { parse_line(R"({"kind":"done","rank":3,"loss":4.0})"); }),
              ElementsAre("spec.unknown-key"));
}

TEST(Message, ALossThatDivergedArrivesAsOne) {
  Message message{.kind = MessageKind::kStep, .step = 4};
  message.loss = std::nan("");
  EXPECT_TRUE(std::isnan(parse_line(to_line(message)).loss));
  message.loss = -INFINITY;
  EXPECT_EQ(parse_line(to_line(message)).loss, -INFINITY);
  EXPECT_THAT(codes_of([] { parse_line(R"({"kind":"step","rank":0,"seconds":"nan"})"); }),
              ElementsAre("spec.type"));
}

TEST(Message, TextThatIsNoUtf8IsStillSaid) {
  Message message{.kind = MessageKind::kError, .rank = 1};
  message.message =
      "caf\xE9 \xC0\x80 \xED\xA0\x80 \xF5 gr\xC3\xB6\xC3\x9F"
      "e \xC3";
  EXPECT_EQ(parse_line(to_line(message)).message, "caf? ?? ??? ? größe ?");
}

TEST(Message, WhatIsNoMessageIsAnError) {
  EXPECT_THAT(codes_of([] { parse_line("Segmentation fault"); }), ElementsAre("spec.syntax"));
  EXPECT_THAT(codes_of([] { parse_line(R"({"rank":0})"); }), ElementsAre("spec.missing-key"));
  EXPECT_THAT(codes_of([] { parse_line(R"({"kind":"stop","rank":-1})"); }),
              ElementsAre("spec.choice", "spec.range"));
}

TEST(WorkerInfo, ReadsBackEqual) {
  const WorkerInfo info{"0.1.0 abc", "libtorch 2.6.0", "nccl shared", 2};
  EXPECT_EQ(parse_worker_info(to_line(info)), info);
  EXPECT_THAT(codes_of([] { parse_worker_info("{}"); }), ElementsAre("spec.missing-key"));
}

}  // namespace
}  // namespace nereus::job::message_test
