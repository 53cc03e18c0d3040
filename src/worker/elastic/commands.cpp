#include "worker/elastic/commands.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "worker/comm/comm.hpp"

namespace nereus::worker {

using job::ElasticKind;
using job::ElasticMessage;

namespace {

constexpr std::chrono::milliseconds kBeat{500};

template <class Work>
std::thread quiet_thread(Work work) {  // signals are for the thread that trains
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(work);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

LineOut::LineOut(int fd) : fd_(fd) {
  signal(SIGPIPE, SIG_IGN);
  thread_ = quiet_thread([this] { beat(); });
}

LineOut::~LineOut() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void LineOut::send(const ElasticMessage& message) {
  const std::string line = to_line(message) + "\n";
  const std::lock_guard lock(mutex_);
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t count = write(fd_, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // the agent's end is this process's, by the kernel
    done += static_cast<std::size_t>(count);
  }
}

void LineOut::beat() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, kBeat, [this] { return stopped_; })) {
    lock.unlock();
    send({});
    lock.lock();
  }
}

class Commands::NoteBoard : public Board {
 public:
  NoteBoard(std::int64_t generation, LineOut& out) : generation_(generation), out_(out) {}

  void put(const std::string& key, const std::string& note) override {
    if (closed()) throw BoardClosed();
    ElasticMessage message;
    message.kind = ElasticKind::kNote;
    message.generation = generation_;
    message.key = key;
    message.note = job::to_hex_text(note);
    out_.send(message);
    hear(key, note);
  }
  std::optional<std::string> get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    if (closed_) throw BoardClosed();
    const auto found = notes_.find(key);
    return found == notes_.end() ? std::nullopt : std::optional(found->second);
  }
  bool closed() override {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  void hear(const std::string& key, const std::string& note) {
    const std::lock_guard lock(mutex_);
    notes_[key] = note;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

 private:
  const std::int64_t generation_;
  LineOut& out_;
  std::mutex mutex_;
  std::map<std::string, std::string> notes_;
  bool closed_ = false;
};

Commands::Commands(int fd, LineOut& out) : fd_(fd), out_(out) {
  thread_ = quiet_thread([this] { read(); });
}

void Commands::read() {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t count = ::read(fd_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) std::_Exit(0);  // the agent is gone
    text.append(buffer, static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      try {
        take(job::parse_elastic(std::string_view(text).substr(begin, end - begin)));
      } catch (const Errors& errors) {
        std::fprintf(stderr, "%s: %s\n", errors.list().front().code.c_str(), errors.what());
        std::_Exit(5);
      }
    }
    text.erase(0, begin);
  }
}

void Commands::take(const ElasticMessage& command) {
  const std::lock_guard lock(mutex_);
  switch (command.kind) {
    case ElasticKind::kGeneration:
      boards_[command.generation] = std::make_shared<NoteBoard>(command.generation, out_);
      if (command.generation <= over_) boards_[command.generation]->close();
      waiting_.push_back(command);
      break;
    case ElasticKind::kNote:
      if (const auto board = boards_.find(command.generation); board != boards_.end())
        board->second->hear(command.key, job::from_hex_text(command.note));
      break;
    case ElasticKind::kEnd:
      over_ = std::max(over_, command.generation);
      for (const auto& [generation, board] : boards_)
        if (generation <= over_) board->close();
      for (const auto& [comm, generation] : running_)
        if (generation <= over_) comm->abort();
      break;
    case ElasticKind::kEndAfter:
      end_after_ = std::max(end_after_, command.generation);
      saves_at_end_ = command.text == "save";
      break;
    case ElasticKind::kSaveAfter:
      save_after_ = command.generation;
      break;
    case ElasticKind::kKnown:
      known_ = std::max(known_, {command.generation, command.done});
      break;
    case ElasticKind::kLeave:
      std::_Exit(0);
    default:
      break;
  }
  changed_.notify_all();
}

ElasticMessage Commands::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !waiting_.empty(); });
  ElasticMessage command = std::move(waiting_.front());
  waiting_.pop_front();
  return command;
}

std::shared_ptr<Board> Commands::board(std::int64_t generation) {
  const std::lock_guard lock(mutex_);
  boards_.erase(boards_.begin(), boards_.lower_bound(generation));
  return boards_.at(generation);
}

bool Commands::is_over(std::int64_t generation) {
  const std::lock_guard lock(mutex_);
  return generation <= over_;
}

Commands::Ending Commands::ends_after_step(std::int64_t generation) {
  const std::lock_guard lock(mutex_);
  if (generation > end_after_) return Ending::kNone;
  return saves_at_end_ ? Ending::kSave : Ending::kEnd;
}

bool Commands::take_save(std::int64_t generation) {
  const std::lock_guard lock(mutex_);
  if (save_after_ != generation) return false;
  save_after_ = -1;
  return true;
}

std::int64_t Commands::known_saved(std::int64_t generation) {
  const std::lock_guard lock(mutex_);
  return known_.first == generation ? known_.second : -1;
}

Commands::Running::Running(Commands& commands, std::int64_t generation, Comm& comm)
    : commands_(commands), comm_(comm) {
  const std::lock_guard lock(commands.mutex_);
  if (generation <= commands.over_) throw BoardClosed();
  commands.running_[&comm] = generation;
}

Commands::Running::~Running() {
  const std::lock_guard lock(commands_.mutex_);
  commands_.running_.erase(&comm_);
}

}  // namespace nereus::worker
