#include "launch/child.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.hpp"

extern char** environ;

namespace nereus::launch {

namespace {

[[noreturn]] void fail(const char* what) {
  throw_environment_error("launch.process", fmt::format("{}: {}", what, std::strerror(errno)),
                          "fewer ranks, or a higher limit of processes and open files (ulimit)");
}

struct Pipe {
  int read = -1;
  int write = -1;
};

// Closed in every program that is started; the parent's end does not wait.
Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("no pipe to be had");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {ends[0], ends[1]};
}

// Additions first: the first of two entries of one name counts.
std::vector<std::string> environment_of(const ChildSpec& spec) {
  std::vector<std::string> list;
  for (const auto& [name, value] : spec.environment) list.push_back(name + "=" + value);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : spec.environment)
      replaced |= text.starts_with(name) && text.substr(name.size()).starts_with('=');
    if (!replaced) list.emplace_back(text);
  }
  return list;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// If this fails, the process has normal priority; its pacing then limits it.
void lower_priority() {
  const sched_param none{};
  sched_setscheduler(0, SCHED_IDLE, &none);
  setpriority(PRIO_PROCESS, 0, 19);
  const int score = open("/proc/self/oom_score_adj", O_WRONLY);
  if (score < 0) return;
  [[maybe_unused]] const ssize_t written = write(score, "1000", 4);
  close(score);
}

// Between fork and exec only calls that are safe there: other threads may have held locks.
[[noreturn]] void become(char* const* arguments, char* const* environment, const ChildSpec& spec,
                         int report, int command, int text, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it ended before the line above
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGPIPE, SIGABRT, SIGUSR1})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(text, STDOUT_FILENO);
  dup2(text, STDERR_FILENO);
  for (const int fd : {report, command})
    if (fd >= 0) fcntl(fd, F_SETFD, 0);
  if (spec.lowest_priority) lower_priority();
  if (spec.data_limit > 0) {
    const rlimit limit{static_cast<rlim_t>(spec.data_limit), static_cast<rlim_t>(spec.data_limit)};
    setrlimit(RLIMIT_DATA, &limit);
  }
  execve(arguments[0], arguments, environment);
  const char* reason = std::strerror(errno);
  const auto say = [](const char* part) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) _exit(127);
  };
  say(arguments[0]);
  say(" cannot be started: ");
  say(reason);
  say("\n");
  _exit(127);
}

}  // namespace

Child start_child(const ChildSpec& spec) {
  const Pipe text = make_pipe();
  const Pipe report = spec.report_option.empty() ? Pipe{} : make_pipe();
  const Pipe command = spec.command_option.empty() ? Pipe{} : make_pipe();
  if (command.read >= 0) fcntl(command.read, F_SETFL, 0);
  std::vector<std::string> arguments = spec.arguments;
  if (report.write >= 0) {
    arguments.push_back(spec.report_option);
    arguments.push_back(std::to_string(report.write));
  }
  if (command.read >= 0) {
    arguments.push_back(spec.command_option);
    arguments.push_back(std::to_string(command.read));
  }
  std::vector<std::string> environment = environment_of(spec);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(environment);
  const pid_t parent = getpid();
  // Until the child has put them off it has this process's signal handlers, and its pipes too.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0)
    become(argv.data(), envp.data(), spec, report.write, command.read, text.write, parent);
  const int reason = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(text.write);
  if (report.write >= 0) close(report.write);
  if (command.read >= 0) close(command.read);
  if (pid < 0) {
    close(text.read);
    if (report.read >= 0) close(report.read);
    if (command.write >= 0) close(command.write);
    errno = reason;
    fail("no process to be had");
  }
  setpgid(pid, pid);  // also here, in case this process runs first
  return {pid, report.read, text.read, command.write};
}

bool read_available(int fd, std::string& text) {
  char buffer[16384];
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    return count < 0 && errno == EAGAIN;
  }
}

Captured capture(const ChildSpec& spec, double timeout_s) {
  using Clock = std::chrono::steady_clock;
  const Child child = start_child(spec);
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  Captured captured;
  bool late = false;
  while (read_available(child.text_fd, captured.text)) {
    late = Clock::now() >= deadline;
    if (late) break;
    pollfd wait{child.text_fd, POLLIN, 0};
    poll(&wait, 1, 100);
  }
  close(child.text_fd);
  if (late) kill(-child.pid, SIGKILL);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!late && WIFEXITED(status)) captured.exit_code = WEXITSTATUS(status);
  return captured;
}

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = fd >= 0 &&
                     bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (fd >= 0) close(fd);
  if (!bound)
    throw_environment_error("launch.no-port",
                            fmt::format("no free TCP port on 127.0.0.1: {}", std::strerror(errno)),
                            "is the loopback network up?");
  return ntohs(address.sin_port);
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "this host";
}

}  // namespace nereus::launch
