#include "launch/elastic/agent.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "job/elastic.hpp"
#include "job/message.hpp"
#include "launch/elastic/agent_worker.hpp"
#include "launch/elastic/notices.hpp"
#include "launch/signals.hpp"

namespace nereus::launch {

namespace {

using job::ElasticKind;
using job::ElasticMessage;

constexpr std::chrono::milliseconds kBeat{500}, kCallAgain{200}, kConnect{2000};
constexpr std::chrono::seconds kManyFailures{30};
constexpr std::size_t kMostFailures = 3, kMostRecent = 100'000;

class Agent {
 public:
  Agent(const AgentOptions& options, const Say& say)
      : options_(options), say_(say), notices_(options.notice_from), worker_(options.worker, say) {
    signal(SIGPIPE, SIG_IGN);
    if (options_.name.empty()) options_.name = fmt::format("{}-{}", host_name(), getpid());
  }

  int run() {
    start_worker();
    last_connected_ = Clock::now();
    while (!exit_code_) {
      call();
      wait();
      hear_worker();
      hear_coordinator();
      worker_.write();
      hear_signals();
      beat();
    }
    if (connection_) {  // what was said last is still to go
      std::vector<std::string> ignored;
      connection_->pump(ignored);
    }
    return *exit_code_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void start_worker() {
    worker_.start();
    worker_up_ = false;
    said_hello_ = false;
    generation_ = -1;
    rank_ = -1;
    held_ = {};
    recent_.clear();
  }

  void call() {
    const auto now = Clock::now();
    if (connection_ && !connection_->is_proved() && now - called_ > kConnect) connection_.reset();
    if (connection_ || now - called_ < kCallAgain) return;
    if (std::chrono::duration<double>(now - last_connected_).count() > options_.give_up_s) {
      say_(fmt::format("no coordinator at {}:{} for {:.0f} s", options_.coordinator.host,
                       options_.coordinator.port, options_.give_up_s));
      exit_code_ = 4;
      return;
    }
    called_ = now;
    const int fd = start_connecting(options_.coordinator);
    if (fd < 0) return;
    connection_ = std::make_unique<Connection>(fd, options_.token, Connection::Side::kAgent);
    said_hello_ = false;
  }

  void wait() {
    std::vector<pollfd> list = {{signals_.fd(), POLLIN, 0}};
    for (const int fd : worker_.fds()) list.push_back({fd, POLLIN, 0});
    if (connection_) {
      const bool writes = connection_->wants_to_write() || !connection_->is_proved();
      list.push_back({connection_->fd(), static_cast<short>(POLLIN | (writes ? POLLOUT : 0)), 0});
      if (writes) poll(nullptr, 0, 1);  // a socket that can be written to always is
    }
    poll(list.data(), list.size(), 50);
  }

  void send(const ElasticMessage& message) {
    if (connection_ && said_hello_) connection_->send(to_line(message));
  }

  void hello() {
    ElasticMessage hello = held_;
    hello.kind = ElasticKind::kHello;
    hello.name = options_.name;
    hello.build = options_.build;
    hello.host = host_name();
    hello.generation = generation_;
    hello.rank = rank_;
    said_hello_ = true;
    send(hello);
    for (const ElasticMessage& message : recent_) send(message);
    if (notice_) send(*notice_);
  }

  void hear_worker() {
    for (const std::string& line : worker_.lines()) hear_line(line);
    if (worker_.is_gone() && !exit_code_) worker_gone();
    if (connection_ && connection_->is_proved() && worker_up_ && !said_hello_) hello();
  }

  void hear_line(std::string_view line) {
    const ElasticMessage message = job::parse_elastic(line);
    if (message.kind == ElasticKind::kBeat) return;
    if (message.kind == ElasticKind::kSaid && !worker_up_) {  // its own hello
      worker_up_ = true;
      return;
    }
    if (message.kind == ElasticKind::kEnded) held_ = message;
    if (message.kind == ElasticKind::kStarted) {
      held_ = {};
      held_.held = message.generation;
      held_.done = message.done;
    }
    if (message.kind != ElasticKind::kNote) {
      recent_.push_back(message);
      if (recent_.size() > kMostRecent) recent_.pop_front();
    }
    send(message);
  }

  void worker_gone() {
    ElasticMessage lost;
    lost.kind = ElasticKind::kLost;
    lost.generation = generation_;
    lost.text = worker_.reap();
    say_("the worker ended: " + lost.text);
    send(lost);
    const auto now = Clock::now();
    failures_.push_back(now);
    while (now - failures_.front() > kManyFailures) failures_.pop_front();
    if (failures_.size() > kMostFailures) {
      say_(fmt::format("the worker failed {} times within {} s", failures_.size(),
                       kManyFailures.count()));
      exit_code_ = 5;
      return;
    }
    start_worker();
  }

  void hear_coordinator() {
    if (!connection_) return;
    std::vector<std::string> frames;
    const bool open = connection_->pump(frames);
    if (connection_->is_proved()) {
      last_connected_ = Clock::now();
      was_proved_ = true;
    }
    for (const std::string& frame : frames) {
      hear(job::parse_elastic(frame));
      if (exit_code_) return;
    }
    if (open) return;
    // Nobody proves a refusal: one who was let in before calls again.
    if (connection_->is_refused() && !was_proved_) {
      say_(fmt::format("refused by {}:{}: {}", options_.coordinator.host, options_.coordinator.port,
                       connection_->fault()));
      exit_code_ = 2;
      return;
    }
    if (connection_->is_proved())
      say_(fmt::format("the coordinator is lost ({}); reconnecting", connection_->fault()));
    else if (connection_->fault() != last_fault_)
      say_("no connection: " + connection_->fault());
    last_fault_ = connection_->fault();
    connection_.reset();
  }

  void hear(ElasticMessage message) {
    switch (message.kind) {
      case ElasticKind::kGeneration:
        generation_ = message.generation;
        rank_ = message.rank;
        recent_.clear();
        message.address = options_.coordinator.host;  // as it is reached from here
        worker_.tell(message);
        break;
      case ElasticKind::kEnd:
      case ElasticKind::kEndAfter:
      case ElasticKind::kSaveAfter:
      case ElasticKind::kKnown:
      case ElasticKind::kNote:
        worker_.tell(message);
        break;
      case ElasticKind::kRestart:
        say_("out of the job: " + message.text);
        worker_.end();
        if (notice_)
          exit_code_ = 0;
        else
          start_worker();
        break;
      case ElasticKind::kLeave:
        say_(message.text);
        exit_code_ = 0;
        break;
      case ElasticKind::kRefuse:
        say_("refused: " + message.text);
        exit_code_ = 2;
        break;
      default:
        break;
    }
  }

  void hear_signals() {
    const SignalPipe::Counts counts = signals_.take();
    const int asked = counts.terminations + counts.notices + counts.interrupts;
    std::optional<CloudNotice> cloud = notices_.take();
    if (asked == 0 && !cloud) return;
    if (notice_ && asked > 0) {
      say_("told again: stopping at once");
      exit_code_ = 0;
      return;
    }
    if (notice_) return;
    notice_.emplace();
    notice_->kind = ElasticKind::kNotice;
    notice_->seconds = cloud ? cloud->seconds : 30;
    notice_->text = cloud ? cloud->text : counts.notices > 0 ? "SIGUSR1" : "SIGTERM";
    say_(fmt::format("notice ({}): handing over state", notice_->text));
    send(*notice_);
    if (!connection_ && generation_ < 0) exit_code_ = 0;
  }

  void beat() {
    const auto now = Clock::now();
    if (now - beaten_ < kBeat) return;
    beaten_ = now;
    ElasticMessage message;
    message.generation = generation_;
    message.seconds = worker_.silent_s();
    send(message);
  }

  AgentOptions options_;
  const Say& say_;
  NoticeWatch notices_;
  SignalPipe signals_;
  AgentWorker worker_;
  Clock::time_point called_{}, last_connected_{}, beaten_{};
  bool worker_up_ = false, said_hello_ = false, was_proved_ = false;
  std::int64_t generation_ = -1;
  int rank_ = -1;
  ElasticMessage held_{};
  std::deque<ElasticMessage> recent_;  // of this generation, for a coordinator that comes back
  std::unique_ptr<Connection> connection_;
  std::string last_fault_;
  std::optional<ElasticMessage> notice_;
  std::deque<Clock::time_point> failures_;
  std::optional<int> exit_code_;
};

}  // namespace

int run_agent(const AgentOptions& options, const Say& say) { return Agent(options, say).run(); }

}  // namespace nereus::launch
