#include <signal.h>
#include <unistd.h>

#include "api/form/exit_codes.hpp"
#include "cli/cli.hpp"

int main(int argc, char** argv) {
  // A closed pipe is an error code of write(), and must not end the process. A failed check has
  // printed its message, and ends with the exit code of bugs.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGABRT, [](int) { _exit(nereus::api::kBug); });
  return nereus::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
