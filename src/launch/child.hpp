// Starts a child process with pipes for its messages and output, in a separate process group. The
// child dies with its parent.
//
//   Child child = start_child({.arguments = {"nereus-worker", "--rank", "0"},
//                              .report_option = "--report-fd"});
//   read_available(child.report_fd, text);     // false: the other end is closed
//
// Because of the separate group, Ctrl-C on a terminal only reaches the launcher, which decides what
// to forward. PR_SET_PDEATHSIG: the kernel kills the child when the thread that started it ends for
// any reason, so that no process is left behind. Standard input is empty; output and errors share
// one pipe.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace nereus::launch {

struct ChildSpec {
  std::vector<std::string> arguments{};  // [0] is the path of the program
  // Overrides this process's variables.
  std::vector<std::pair<std::string, std::string>> environment{};
  std::string report_option{};  // option for the number of a pipe to write messages to; empty: none
  // Option for the number of a pipe to read commands from; empty: none.
  std::string command_option{};
  // Runs only if no other process wants the CPU (SCHED_IDLE, nice 19), and is the first that the
  // kernel kills if memory is short.
  bool lowest_priority = false;
  double data_limit = 0;  // bytes of private memory (RLIMIT_DATA); 0: none
};

struct Child {
  pid_t pid = -1;
  int report_fd = -1;   // its messages; -1: no such pipe
  int text_fd = -1;     // its output and errors
  int command_fd = -1;  // commands to it; -1: no such pipe
};

// Throws Errors (environment) if no process or pipe can be created. If the program cannot be
// started, the child ends with exit code 127 and writes the reason to its standard error.
Child start_child(const ChildSpec& spec);

// Appends what is available, without blocking. Returns false if no more will come.
bool read_available(int fd, std::string& text);

// Runs a program to its end, and returns its standard output and standard error. The exit code is
// -1 if it was killed, by a signal or by the time-out.
struct Captured {
  int exit_code = -1;
  std::string text;
};
Captured capture(const ChildSpec& spec, double timeout_s);

// A TCP port of this machine that is not in use now.
int free_port();

std::string host_name();

}  // namespace nereus::launch
