// Who called, as a verb sees it: where its answer, its words and its progress go, and when to stop.
// A command line, lines of JSON and a program are callers (cli/terminal_caller.hpp, api/call.hpp).
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
  // Words as they come, with the line breaks they have; a note is one line beside the answer.
  virtual void say(std::string_view text) = 0;
  virtual void note(const std::string& text) = 0;
  // What went wrong in work that has an answer all the same, or an exit code of its own.
  virtual void warn(const Error& error) = 0;
  virtual app::ProgressSink progress() = 0;
  // From here on an interrupt ends the work with what it has: the function says whether one came.
  virtual std::function<bool()> stop() = 0;

  Terminal screen;  // what drawings made of text must fit
};

// Hears nothing: for commands that are built for their fields alone.
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
