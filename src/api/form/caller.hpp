// The caller of a verb, as the verb sees it: it receives the answer, the text output and the
// progress, and it decides when to stop. Callers are a command line (cli/terminal_caller.hpp),
// lines of JSON, and a program (api/call.hpp).
//
//   wanted.stop = caller.stop();
//   const app::PlanAnswer answer = app::plan(wanted, caller.progress());
//   caller.answer(plan_report(answer), request.output);
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/form/report.hpp"
#include "api/text/terminal.hpp"
#include "app/progress.hpp"
#include "base/error.hpp"

namespace nereus::api {

class Caller {
 public:
  Caller() = default;
  explicit Caller(Terminal own) : screen(own) {}
  virtual ~Caller() = default;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  virtual void answer(const Report& report, const OutputOptions& output) = 0;
  // Text as it comes, with its line breaks. A note is one line in addition to the answer.
  virtual void say(std::string_view text) = 0;
  virtual void note(const std::string& text) = 0;
  // An error in work that still has an answer, or that has a special exit code.
  virtual void warn(const Error& error) = 0;
  virtual app::ProgressSink progress() = 0;
  // From now on an interrupt stops the work, which returns what it has. The returned function tells
  // whether an interrupt came.
  virtual std::function<bool()> stop() = 0;

  Terminal screen;  // the size that text drawings must fit
};

// Ignores all output: for commands that are built only to read their fields.
class Nobody : public Caller {
 public:
  void answer(const Report&, const OutputOptions&) override {}
  void say(std::string_view) override {}
  void note(const std::string&) override {}
  void warn(const Error&) override {}
  app::ProgressSink progress() override {
    return [](const app::Progress&) {};
  }
  std::function<bool()> stop() override {
    return [] { return false; };
  }
};

}  // namespace nereus::api
