#include "job/gate.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <new>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace nereus::job {

namespace {

// From an open gate to a running piece: for a rank that sleeps there, and for one that polls.
constexpr std::int64_t kToWake = 50'000, kToNotice = 15'000;
// From a closed gate until the foreground's work reaches its device.
constexpr std::int64_t kToLaunch = 20'000;

static_assert(std::atomic<std::int64_t>::is_always_lock_free &&
                  std::atomic<Guest>::is_always_lock_free,
              "processes share it");

std::shared_ptr<GatePage> map(const std::string& file, int flags) {
  const auto fail = [&]() -> std::shared_ptr<GatePage> {
    throw_environment_error("job.gate", fmt::format("{}: {}", file, std::strerror(errno)));
  };
  const int fd = open(file.c_str(), flags, 0600);
  if (fd < 0) return fail();
  struct stat status {};
  const bool sized = (flags & O_CREAT) ? ftruncate(fd, sizeof(GatePage)) == 0
                                       : fstat(fd, &status) == 0 &&
                                             status.st_size == static_cast<off_t>(sizeof(GatePage));
  void* memory = sized ? mmap(nullptr, sizeof(GatePage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                       : MAP_FAILED;
  close(fd);
  if (memory == MAP_FAILED) return fail();
  return {static_cast<GatePage*>(memory), [](GatePage* page) { munmap(page, sizeof *page); }};
}

// Accurate to a few microseconds: the kernel wakes up to about 60 late.
void sleep_until(std::int64_t time) {
  constexpr std::int64_t kLate = 80'000;
  std::this_thread::sleep_until(
      std::chrono::steady_clock::time_point(std::chrono::nanoseconds(time - kLate)));
  while (gate_now() < time) std::this_thread::yield();
}

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

std::int64_t gate_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Gate Gate::make(const std::string& file) {
  const std::shared_ptr<GatePage> page = map(file, O_RDWR | O_CREAT | O_EXCL);
  new (page.get()) GatePage;
  return Gate(page);
}

Gate::Gate(const std::string& file) : page_(map(file, O_RDWR)) {}

void Gate::open(std::int64_t until) const {
  page_->open_until = until;
  ++page_->num_openings;
  syscall(SYS_futex, &page_->num_openings, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr,
          nullptr, 0);
}

// The standard library's wait is for threads of one process.
void Gate::wait_for_opening(std::uint32_t seen, std::int64_t nanoseconds) const {
  const timespec time{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  syscall(SYS_futex, &page_->num_openings, FUTEX_WAIT, seen, &time, nullptr, 0);
}

void GateHost::open_for(double seconds) {
  if (!begun_) left_ = gate_.page().grant;
  begun_ = true;
  const std::int64_t time = std::min(nanoseconds(seconds), left_);
  if (time <= 0) return;
  left_ -= time;
  gate_.open(gate_now() + time);
}

void GateHost::let_new_one_run() {
  std::atomic<Guest>& guest = gate_.page().guest;
  if (guest != Guest::kNew || gate_.page().grant <= 0) return;
  const std::int64_t end = gate_now() + kLongestFirst;
  gate_.open(end);
  while (guest == Guest::kNew && gate_now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  close();
  Guest still = Guest::kNew;
  guest.compare_exchange_strong(still, Guest::kKnown);
}

// Waits with an open gate.
void GateHost::stay_until(std::int64_t most, std::int64_t least) const {
  if (!watches_ || most <= least) return sleep_until(most);
  sleep_until(least);
  most = std::max(least, most - kToLaunch);
  const GatePage& page = gate_.page();
  const std::uint32_t opening = page.num_openings;
  for (std::int64_t now = gate_now(); now < most; now = gate_now())
    if (page.declined == opening && now >= page.free_at) return;
}

double GateHost::give_way(double gap_s) {
  let_new_one_run();
  const std::int64_t start = gate_now(), gap = nanoseconds(gap_s);
  if (!begun_) left_ = gate_.page().grant;
  begun_ = false;
  const std::int64_t more = more_than(gap);
  if (const std::int64_t open = std::min(gap, left_) + more; open > 0) {
    gate_.open(start + open);
    stay_until(start + open, start + std::min(gap, left_));
    close();
  }
  sleep_until(start + gap);
  return static_cast<double>(gate_now() - start) * 1e-9;
}

// Depends only on what all ranks know, except for the launcher's grant, which reaches them within a
// step.
bool GateHost::is_turn() {
  const std::int64_t since = ++num_steps_ - kFirstTurn;
  if (since < 0) return false;
  if (since % kStepsPerTurn == 0) turn_is_due_ = true;
  return since % kNextTry == 0 && gate_.page().grant > 0 && std::exchange(turn_is_due_, false);
}

// 0 if no piece waits, or if none of the waiting pieces would fit.
std::int64_t GateHost::more_than(std::int64_t gap) {
  GatePage& page = gate_.page();
  const bool turn = is_turn();
  const std::int64_t wanted = page.wanted;
  if (wanted <= 0 || page.grant <= 0) return 0;
  const std::int64_t may =
      std::min<std::int64_t>(page.most_yield, std::max<std::int64_t>(0, left_ - gap));
  const std::int64_t needed = wanted + (watches_ ? kToNotice : kToWake) - std::min(gap, left_);
  if (may > 0 && needed <= may) return may;
  const std::int64_t each = may + page.long_yield;
  saved_ = std::min(saved_ + each, kStepsPerTurn * each);
  if (turn && needed <= saved_) return std::exchange(saved_, 0);
  if (may > 0 || turn) {
    ++page.num_too_long;
    page.longest = std::max<std::int64_t>(page.longest, wanted);
  }
  return 0;
}

}  // namespace nereus::job
