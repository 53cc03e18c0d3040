#include "cli/terminal_caller.hpp"

#include <cstdio>

#include "base/write_file.hpp"
#include "cli/text/output.hpp"
#include "cli/text/say_error.hpp"

namespace nereus::cli {

void TerminalCaller::answer(const api::Report& report, const api::OutputOptions& output) {
  constexpr int kFileWidth = 160;  // of tables that no terminal limits
  end_progress();
  if (output.file.empty()) {
    api::Terminal terminal = screen;
    if (terminal.width == 0) terminal.width = kFileWidth;
    write_stdout(render(report, output.format, terminal));
  } else {
    // Files are read by anyone anywhere: no colour.
    const api::Terminal plain{.width = kFileWidth, .utf8 = screen.utf8};
    write_file(output.file, render(report, output.format, plain));
  }
}

void TerminalCaller::say(std::string_view text) {
  end_progress();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void TerminalCaller::note(const std::string& text) { say("note: " + text + "\n"); }

void TerminalCaller::warn(const Error& error) {
  end_progress();
  say_error(error, err_);
}

app::ProgressSink TerminalCaller::progress() {
  bar_.emplace(err_);
  return bar_->sink();
}

std::function<bool()> TerminalCaller::stop() {
  if (!guard_) guard_.emplace();
  return [] { return interrupted(); };
}

}  // namespace nereus::cli
