// A person at a terminal, or a script behind a pipe, as the caller of a verb. The answer goes to
// stdout or to a file, in the requested format; notes, warnings and progress go to stderr; Ctrl-C
// ends long work with its result so far.
#pragma once

#include <optional>

#include "api/form/caller.hpp"
#include "base/interrupt.hpp"
#include "cli/text/progress_bar.hpp"

namespace nereus::cli {

class TerminalCaller : public api::Caller {
 public:
  TerminalCaller(const api::Terminal& out, const api::Terminal& err) : Caller(out), err_(err) {}

  void answer(const api::Report& report, const api::OutputOptions& output) override;
  void say(std::string_view text) override;
  void note(const std::string& text) override;
  void warn(const Error& error) override;
  app::ProgressSink progress() override;
  std::function<bool()> stop() override;

  void end_progress() { bar_.reset(); }

 private:
  api::Terminal err_;
  std::optional<ProgressBar> bar_;
  std::optional<InterruptGuard> guard_;
};

}  // namespace nereus::cli
