#include "job/reporter.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace nereus::job {

namespace {

std::atomic<int> wanted = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void remember_end(int) {
  int nothing = static_cast<int>(Asked::kNothing);
  wanted.compare_exchange_strong(nothing, static_cast<int>(Asked::kEnd));
}
extern "C" void remember_save(int) { wanted = static_cast<int>(Asked::kSave); }

}  // namespace

Reporter::Reporter(int fd, int rank, std::chrono::milliseconds beat)
    : fd_(fd), rank_(rank), beat_(beat) {
  alive_.kind = MessageKind::kAlive;
  alive_.rank = rank;
  // Signals are for the thread that trains; a broken pipe is an error code of write().
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { beat_until_stopped(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Reporter::~Reporter() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void Reporter::send(Message message) {
  message.rank = rank_;
  const std::lock_guard lock(mutex_);
  write_line(message);
}

void Reporter::doing(std::int64_t operation, std::string what) {
  const std::lock_guard lock(mutex_);
  alive_.operation = operation;
  alive_.doing = std::move(what);
}

void Reporter::beat_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, beat_, [this] { return stopped_; })) write_line(alive_);
}

void Reporter::write_line(const Message& message) {
  if (fd_ < 0) return;
  const std::string line = to_line(message) + "\n";
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t count = write(fd_, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    done += static_cast<std::size_t>(count);
  }
}

AskedGuard::AskedGuard() {
  wanted = 0;
  signal(SIGINT, remember_end);
  signal(SIGTERM, remember_save);
}

AskedGuard::~AskedGuard() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

Asked asked() { return static_cast<Asked>(wanted.load()); }

}  // namespace nereus::job
