// One child process: started with pipes for what it says, in a process group of its own, and bound
// to die with its parent.
//
//   Child child = start_child({.arguments = {"nereus-worker", "--rank", "0"},
//                              .report_option = "--report-fd"});
//   read_available(child.report_fd, text);     // until false: the other end is closed
//
// A group of its own: Ctrl-C on a terminal reaches the launcher alone, which decides what to hand
// on. PR_SET_PDEATHSIG: the kernel kills the child when the thread that started it ends, however it
// ends, so that nothing is left behind. Standard input is empty; output and errors share one pipe.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace nereus::launch {

struct ChildSpec {
  std::vector<std::string> arguments{};                            // [0] is the program's path
  std::vector<std::pair<std::string, std::string>> environment{};  // over what this process has
  std::string report_option{};  // given with the number of a pipe to write messages to; empty: none
  std::string command_option{};  // so too, of a pipe to read commands from
  // Runs only where nobody else would (SCHED_IDLE, nice 19), and is what the kernel ends first
  // where memory is short.
  bool lowest_priority = false;
  double data_limit = 0;  // bytes of private memory (RLIMIT_DATA); 0: none
};

struct Child {
  pid_t pid = -1;
  int report_fd = -1;   // what it reports; -1: no such pipe
  int text_fd = -1;     // its output and errors
  int command_fd = -1;  // what it is told; -1: no such pipe
};

// Throws Errors (environment) where there are no processes or pipes to be had. A program that
// cannot be started ends with exit code 127 and says why on its errors.
Child start_child(const ChildSpec& spec);

// Appends what is there, without waiting. False where there will be no more.
bool read_available(int fd, std::string& text);

// Runs a program to its end and takes what it prints on its standard output and errors. The exit
// code is -1 where it was killed, by its own fault or because the time was over.
struct Captured {
  int exit_code = -1;
  std::string text;
};
Captured capture(const ChildSpec& spec, double timeout_s);

// A TCP port of this machine that nobody uses now.
int free_port();

std::string host_name();

}  // namespace nereus::launch
