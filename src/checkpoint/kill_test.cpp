// Kill -9 at random moments: whatever was complete stays complete, and is what it says.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/checkpoint_testing.hpp"
#include "checkpoint/writer.hpp"

namespace nereus::checkpoint::kill_test {
namespace {

using namespace testing;

constexpr int kRanks = 2;
constexpr int kLayers = 3;
constexpr std::int64_t kElements = 4096;

// Every byte follows from the step, so that a mixture of two steps shows.
std::vector<std::byte> state_of(std::int64_t step, int layer) {
  return numbered_bytes(
      kElements * 4, static_cast<std::uint64_t>(step) * 1000 + static_cast<std::uint64_t>(layer));
}

std::string name_of(int layer) { return fmt::format("h.{}.weight", layer); }

// Two ranks in one process that take turns: rank 1 writes, then rank 0 writes and completes. Sends
// a byte when it begins, and one after each checkpoint.
[[noreturn]] void write_forever(const std::string& folder, std::int64_t step, int told) {
  const plan::Plan plan = small_plan();
  std::string report;
  Writer zero({folder, 0, kRanks, 2, [&](std::int64_t, std::string mine) {
                 return std::vector<std::string>{std::move(mine), report};
               }});
  Writer one({folder, 1, kRanks, 2, [&](std::int64_t, std::string mine) {
                report = std::move(mine);
                return std::vector<std::string>{};
              }});
  for (;; ++step) {
    if (write(told, "x", 1) != 1) _exit(1);
    std::vector<std::vector<Part>> ranks(kRanks);
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::vector<std::byte> bytes = state_of(step, layer);
      const std::int64_t cut = kElements / 3;
      const auto part = [&](std::int64_t begin, std::int64_t end) {
        return own_copy({name_of(layer),
                         TensorKind::kWeight,
                         DType::kF32,
                         {64, 64},
                         {},
                         begin,
                         end,
                         layer,
                         std::span(bytes).subspan(static_cast<std::size_t>(begin) * 4,
                                                  static_cast<std::size_t>(end - begin) * 4)});
      };
      ranks[0].push_back(part(0, cut));
      ranks[1].push_back(part(cut, kElements));
    }
    one.save({.step = step}, plan, std::move(ranks[1]));
    one.wait();
    zero.save({.step = step}, plan, std::move(ranks[0]));
    zero.wait();
  }
}

// A writer in a process of its own.
class Child {
 public:
  Child(const std::string& folder, std::int64_t step) {
    int ends[2] = {-1, -1};
    NEREUS_CHECK(pipe(ends) == 0, "no pipe");
    told_ = ends[0];
    process_ = fork();
    NEREUS_CHECK(process_ >= 0, "no process");
    if (process_ == 0) write_forever(folder, step, ends[1]);
    close(ends[1]);
  }
  ~Child() { close(told_); }
  void hear() {
    char byte = 0;
    NEREUS_CHECK(read(told_, &byte, 1) == 1, "the writer ended by itself");
  }
  void kill_now() {
    int status = 0;
    NEREUS_CHECK(kill(process_, SIGKILL) == 0 && waitpid(process_, &status, 0) == process_ &&
                     WIFSIGNALED(status),
                 "the writer ended by itself");
  }

 private:
  int told_ = -1;
  pid_t process_ = -1;
};

TEST(Kill, LosesNothingThatWasComplete) {
  const TemporaryFolder folder;
  std::mt19937_64 random(20240607);
  std::int64_t newest = 0;
  int leftovers = 0;
  double usual = 0;  // microseconds of one checkpoint on this disk
  for (int round = 0; round < 50; ++round) {
    Child writer(folder.path(), newest + 1);
    writer.hear();  // past its start, which removes leftovers
    if (round == 0) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < 4; ++i) writer.hear();
      usual = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
                  .count() /
              4;
    }
    usleep(static_cast<useconds_t>(usual * std::uniform_real_distribution(0.0, 2.5)(random)));
    writer.kill_now();

    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      leftovers += entry.path().string().ends_with(".partial");
    const std::optional<std::string> latest = find_latest(folder.path());
    if (!latest) {
      EXPECT_EQ(newest, 0) << "a complete checkpoint is gone";
      continue;
    }
    const Checkpoint saved(*latest);
    saved.verify();
    const std::int64_t step = saved.manifest().progress.step;
    EXPECT_GE(step, newest) << "a complete checkpoint is gone";
    newest = step;
    // All that are there are whole, not only the last.
    for (const auto& [number, path] : list_checkpoints(folder.path())) {
      const Checkpoint one(path);
      for (int layer = 0; layer < kLayers; ++layer) {
        std::vector<std::byte> out(kElements * 4);
        one.read_range(name_of(layer), TensorKind::kWeight, {}, 0, kElements, out);
        EXPECT_EQ(out, state_of(number, layer)) << path;
      }
    }
  }
  EXPECT_GT(newest, 10) << "too few were written to show anything";
  EXPECT_GT(leftovers, 10) << "too few kills fell into a write";
}

}  // namespace
}  // namespace nereus::checkpoint::kill_test
