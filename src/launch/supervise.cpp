#include "launch/supervise.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/error.hpp"
#include "launch/signals.hpp"

namespace nereus::launch {

namespace {

constexpr double kSettle = 0.5;            // seconds in which the others' words arrive
constexpr int kTick = 100;                 // milliseconds
constexpr double kSameMoment = 1;          // seconds
constexpr std::size_t kLongest = 1 << 20;  // of one line; a worker that writes more is broken

// Takes whole lines off the front of a text.
template <class Take>
void take_lines(std::string& text, const Take& take) {
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    take(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  text.erase(0, begin);
}

struct Running {
  Child child{};
  std::string report{};  // not yet a whole line
  std::string text{};
};

class Supervisor {
 public:
  Supervisor(const Limits& limits, const Watch& watch) : limits_(limits), watch_(watch) {
    if (limits.hears_signals) signals_.emplace();
  }
  ~Supervisor() { kill_all(); }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void start(const RankSpec& spec) {
    RankState state;
    state.rank = spec.rank;
    state.heard_at = now();
    running_.push_back({start_child(spec.child), {}, {}});
    if (watch_.control) watch_.control->add(running_.back().child.pid);
    states_.push_back(std::move(state));
  }

  Outcome run() {
    while (!all_ended()) {
      wait();
      if (signals_) handle(signals_->take());
      for (std::size_t i = 0; i < running_.size(); ++i) look_at(i);
      if (outcome_.failure || gave_up_) {
        if (now() >= kill_at_) kill_all();
      } else {
        look_for_trouble();
      }
    }
    finish();
    return outcome_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  double now() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool all_ended() const {
    return std::all_of(states_.begin(), states_.end(), [](const auto& s) { return s.ended; });
  }

  void wait() const {
    std::vector<pollfd> list;
    if (signals_) list.push_back({signals_->fd(), POLLIN, 0});
    for (const Running& rank : running_)
      for (const int fd : {rank.child.report_fd, rank.child.text_fd})
        if (fd >= 0) list.push_back({fd, POLLIN, 0});
    poll(list.data(), list.size(), kTick);
  }

  // Hands signals on; a second of either kind is meant to end at once.
  void handle(const SignalPipe::Counts& counts) {
    for (int i = 0; i < counts.interrupts; ++i) ask(Asked::kEnd, SIGINT);
    for (int i = 0; i < counts.terminations; ++i) ask(Asked::kSave, SIGTERM);
  }
  void ask(Asked what, int signal) {
    // A job that is interrupted and then terminated is still asked to save.
    const bool again = outcome_.asked >= what;
    // GNU timeout, and some batch systems, terminate a process and then its group: that is once.
    const double time = now();
    if (again && what == Asked::kSave && time - asked_at_ < kSameMoment) return;
    asked_at_ = time;
    outcome_.asked = again ? Asked::kKill : what;
    if (watch_.asked) watch_.asked(outcome_.asked);
    if (again)
      give_up();
    else
      signal_all(signal);
  }

  void look_at(std::size_t i) {
    Running& rank = running_[i];
    RankState& state = states_[i];
    drain(rank.child.text_fd, rank.text);
    take_lines(rank.text, [&](std::string_view line) { print(state, line); });
    if (rank.text.size() > kLongest) print(state, std::exchange(rank.text, {}));
    const bool open = drain(rank.child.report_fd, rank.report);
    take_lines(rank.report, [&](std::string_view line) { hear(state, line); });
    if (rank.report.size() > kLongest) hear(state, rank.report.substr(0, 80));
    if (!open && state.ended_at == 0) state.ended_at = now();
    reap(i);
  }

  // Reads what is available; closes at the end. Returns false if it is closed.
  static bool drain(int& fd, std::string& text) {
    if (fd < 0) return false;
    if (read_available(fd, text)) return true;
    close(fd);
    fd = -1;
    return false;
  }

  void print(RankState& state, std::string_view line) {
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) state.last_text = line;
    if (watch_.text) watch_.text(state.rank, line);
  }

  void hear(RankState& state, std::string_view line) {
    state.heard_at = now();
    job::Message message;
    try {
      message = job::parse_line(line);
    } catch (const Errors&) {
      if (state.bad_line.empty()) state.bad_line = line.substr(0, 200);
      return;
    }
    if (message.rank != state.rank && state.bad_line.empty()) state.bad_line = line.substr(0, 200);
    state.greeted |= message.kind == job::MessageKind::kHello;
    state.done |= message.kind == job::MessageKind::kDone;
    if (message.kind == job::MessageKind::kError && state.error) {
      state.more_errors.push_back(message);
    } else if (message.kind == job::MessageKind::kError) {
      state.error = message;
      state.error_at = now();
    }
    if (watch_.message) watch_.message(message);
  }

  void reap(std::size_t i) {
    RankState& state = states_[i];
    if (state.ended) return;
    const pid_t pid = running_[i].child.pid;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info,
               WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != pid)
      return;
    if (info.si_code == CLD_STOPPED || info.si_code == CLD_CONTINUED) {
      state.stopped = info.si_code == CLD_STOPPED;
      if (!state.stopped) state.heard_at = now();
      waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WCONTINUED | WNOHANG);
      return;
    }
    // It is not yet reaped, so the group's number is still valid: all processes it started end here
    // too.
    kill(-pid, SIGKILL);
    if (watch_.control) watch_.control->remove(pid);
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED);
    // Its last words are in the pipes.
    drain_rest(i);
    state.ended = true;
    if (state.ended_at == 0) state.ended_at = now();
    if (info.si_code == CLD_EXITED)
      state.exit_code = info.si_status;
    else
      state.signal = info.si_status;
    // It was asked to end before it could listen: no failure, but the others need not wait for it.
    if (outcome_.asked != Asked::kNothing && (state.signal == SIGINT || state.signal == SIGTERM))
      give_up();
  }
  void give_up() {
    gave_up_ = true;
    kill_at_ = now();
  }

  void drain_rest(std::size_t i) {
    Running& rank = running_[i];
    RankState& state = states_[i];
    drain(rank.child.text_fd, rank.text);
    take_lines(rank.text, [&](std::string_view line) { print(state, line); });
    if (!rank.text.empty()) print(state, std::exchange(rank.text, {}));
    drain(rank.child.report_fd, rank.report);
    take_lines(rank.report, [&](std::string_view line) { hear(state, line); });
    for (int* fd : {&rank.child.text_fd, &rank.child.report_fd})
      if (*fd >= 0) close(std::exchange(*fd, -1));
  }

  double limit_of(const RankState& state) const {
    return state.greeted ? limits_.timeout_s : std::max(limits_.timeout_s, limits_.start_timeout_s);
  }

  void look_for_trouble() {
    const double time = now();
    const bool any = std::any_of(states_.begin(), states_.end(), [&](const RankState& state) {
      return troubled(state, time, limit_of(state));
    });
    if (!any) return;
    if (trouble_since_ < 0) trouble_since_ = time;
    if (time - trouble_since_ < kSettle && !all_ended()) return;
    outcome_.failure = judge(states_, time, limits_.timeout_s);
    kill_at_ = time + limits_.grace_s;
    signal_all(SIGTERM);
  }

  void signal_all(int signal) const {
    for (std::size_t i = 0; i < running_.size(); ++i)
      if (!states_[i].ended) kill(running_[i].child.pid, signal);
  }
  void kill_all() const {
    for (std::size_t i = 0; i < running_.size(); ++i)
      if (!states_[i].ended) kill(-running_[i].child.pid, SIGKILL);
  }

  void finish() {
    if (!outcome_.failure && !gave_up_) outcome_.failure = judge(states_, now(), limits_.timeout_s);
    if (outcome_.failure) {
      outcome_.exit_code = outcome_.failure->input_error         ? 2
                           : outcome_.failure->environment_error ? 4
                                                                 : 5;
      return;
    }
    if (gave_up_) {
      outcome_.exit_code = 10;
      return;
    }
    for (const int code : {0, 75, 10})
      for (const RankState& state : states_)
        if (state.exit_code == code) outcome_.exit_code = code;
  }

  const Limits& limits_;
  const Watch& watch_;
  const Clock::time_point begin_ = Clock::now();
  double asked_at_ = 0;
  std::optional<SignalPipe> signals_{};
  std::vector<Running> running_{};
  std::vector<RankState> states_{};
  Outcome outcome_{};
  bool gave_up_ = false;  // they are killed because they were asked to end
  double trouble_since_ = -1;
  double kill_at_ = 0;
};

}  // namespace

Outcome run_ranks(const std::vector<RankSpec>& specs, const Limits& limits, const Watch& watch) {
  Supervisor supervisor(limits, watch);
  for (const RankSpec& spec : specs) supervisor.start(spec);
  return supervisor.run();
}

}  // namespace nereus::launch
