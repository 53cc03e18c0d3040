#include "base/interrupt.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace nereus::interrupt_test {
namespace {

TEST(Interrupt, RemembersEachSignalThatAsksToStop) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    const InterruptGuard guard;
    EXPECT_FALSE(interrupted());
    std::raise(signal);
    EXPECT_TRUE(interrupted()) << signal;
  }
}

TEST(InterruptDeathTest, TheSecondOneEndsTheProgram) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    EXPECT_EXIT(
        {
          const InterruptGuard guard;
          std::raise(SIGTERM);
          std::raise(signal);
        },
        ::testing::KilledBySignal(signal), "");
  }
}

}  // namespace
}  // namespace nereus::interrupt_test
