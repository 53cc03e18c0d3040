#include "job/reporter.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <sstream>

namespace nereus::job::reporter_test {
namespace {

std::vector<Message> read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  std::vector<Message> messages;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) messages.push_back(parse_line(line));
  return messages;
}

TEST(Reporter, LinesOfManyThreadsStayWholeAndLifeIsShown) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::vector<Message> messages;
  std::thread reader([&] { messages = read_all(ends[0]); });
  {
    Reporter reporter(ends[1], 3, std::chrono::milliseconds(1));
    reporter.doing(17, "all-reduce");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) {
          Message message{.kind = MessageKind::kStep};
          message.step = t * 100 + i;
          reporter.send(message);
        }
      });
    for (std::thread& thread : threads) thread.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  close(ends[1]);
  reader.join();
  close(ends[0]);
  int steps = 0, beats = 0;
  for (const Message& message : messages) {
    EXPECT_EQ(message.rank, 3);
    steps += message.kind == MessageKind::kStep;
    beats += message.kind == MessageKind::kAlive && message.operation == 17;
  }
  EXPECT_EQ(steps, 400);
  EXPECT_GE(beats, 3);
}

TEST(Reporter, AReaderThatIsGoneIsNoError) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Reporter reporter(ends[1], 0);
  close(ends[0]);
  reporter.send({.kind = MessageKind::kDone});
  close(ends[1]);
  Reporter silent(-1, 0);
  silent.send({.kind = MessageKind::kDone});
}

TEST(Asked, ToSaveOutweighsToEnd) {
  const AskedGuard guard;
  EXPECT_EQ(asked(), Asked::kNothing);
  raise(SIGINT);
  EXPECT_EQ(asked(), Asked::kEnd);
  raise(SIGTERM);
  EXPECT_EQ(asked(), Asked::kSave);
  raise(SIGINT);
  EXPECT_EQ(asked(), Asked::kSave);
}

}  // namespace
}  // namespace nereus::job::reporter_test
