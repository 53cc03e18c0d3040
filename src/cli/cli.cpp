#include "cli/cli.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>

#include "api/form/exit_codes.hpp"
#include "api/form/request_json.hpp"
#include "api/json_lines.hpp"
#include "api/verbs/verbs.hpp"
#include "base/error.hpp"
#include "base/infeasible.hpp"
#include "cli/terminal_caller.hpp"
#include "cli/text/output.hpp"
#include "cli/text/parse_words.hpp"
#include "cli/text/say_error.hpp"

namespace nereus::cli {

using api::Style;
using api::styled;
using api::Terminal;

namespace {

constexpr const char* kApiVerb = "api";
constexpr const char* kApiSummary = "answer many requests in one process, as lines of JSON";
constexpr const char* kApiHelp =
    R"(nereus api: answer many requests in one process, as lines of JSON

Usage: nereus api < REQUESTS > ANSWERS

A request is one line:
  {"id": 1, "verb": "predict", "request": {"model": "gpt2", "cluster": "1xdgx-h100"}}
The answer is one line:
  {"id": 1, "answer": {...}}     or {"id": 1, "error": {code, message, where, hints}}
Long requests report progress: {"id": 1, "progress": {...}}. {"cancel": 1} stops one early.

One line can hold many requests: each array is a column, any other value applies to all.
  {"id": 2, "verb": "predict", "requests": {"model": "gpt2", "tp": [1, 2]}, "fields": ["step_s"]}
  {"id": 2, "answers": {"step_s": [...]}, "errors": {"1": {...}}}

Field names are option names without dashes: --micro-batch is micro_batch, PLAN is plan.
nereus schema VERB lists the fields. nereus VERB ... --as-request prints the request line.
)";

std::string overview(api::Caller& caller) {
  std::string text =
      "Nereus finds how to train a large model on your machines, how fast it runs and what it "
      "costs.\n\nUsage: nereus VERB [arguments]\n\nVerbs:\n";
  for (const api::VerbMaker& verb : api::all_verbs())
    text += fmt::format("  {:<12}{}\n", verb.name, verb.build(caller)->summary());
  text += fmt::format("  {:<12}{}\n", kApiVerb, kApiSummary);
  return text +
         "\nnereus VERB --help shows its options and examples. Results go to stdout, all other "
         "output to stderr.\nExit codes: 0 success; 1 a bug; 2 wrong usage or input; 3 nothing "
         "feasible; 4 a problem of the environment; 5 a worker failed; 10 stopped early; 75 "
         "preempted after saving a checkpoint.\n";
}

// "error[code]" in red and "hint:" in cyan, if stderr shows colors.
std::string colored(std::string text, const Terminal& terminal) {
  if (const size_t end = text.find(':'); text.starts_with("error") && end != std::string::npos) {
    text.replace(0, end, styled(text.substr(0, end), Style::kRed, terminal));
  }
  if (const size_t at = text.rfind("\n  hint:"); at != std::string::npos) {
    text.replace(at + 3, 5, styled("hint:", Style::kCyan, terminal));
  }
  return text;
}

void report(const Errors& errors, const Terminal& terminal) {
  for (const Error& error : errors.list()) say_error(error, terminal);
}

// Removes "--as-request" from the words; returns false if it is not among them.
bool asks_for_request(std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  const auto at = std::find(words.begin(), end, "--as-request");
  if (at == end) return false;
  words.erase(at);
  return true;
}

// Prints the line for `nereus api` that gives the same answer.
void print_request(const api::Command& command) {
  const api::Json line = {
      {"id", 1}, {"verb", command.name()}, {"request", api::request_json(command)}};
  write_stdout(line.dump() + "\n");
}

void run_lines() {
  std::signal(SIGPIPE, SIG_IGN);
  api::answer_lines(
      [](std::string& line) { return static_cast<bool>(std::getline(std::cin, line)); },
      [](std::string_view line) { write_stdout(std::string(line) + "\n"); });
}

int run_verb(api::Command& verb, std::vector<std::string> words, const TerminalCaller& caller) {
  if (asks_for_help(words)) {
    write_stdout(help_text(verb, caller.screen.width));
    return api::kDone;
  }
  const bool as_request = asks_for_request(words);
  parse_words(verb, words);
  if (!as_request) return verb.run();
  print_request(verb);
  return api::kDone;
}

int dispatch(std::vector<std::string> words, TerminalCaller& caller) {
  if (words.empty()) {
    fmt::print(stderr, "{}", overview(caller));
    return api::kBadInput;
  }
  if (words[0] == "--version") words[0] = "version";
  if (words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    if (words.size() < 2 || words[0] != "help") {
      write_stdout(overview(caller));
      return api::kDone;
    }
    words = {words[1], "--help"};
  }
  const std::string name = words[0];
  words.erase(words.begin());
  if (name == kApiVerb) {
    if (asks_for_help(words)) {
      write_stdout(kApiHelp);
    } else if (!words.empty()) {
      throw_input_error("cli.unexpected-argument",
                        fmt::format("unexpected argument '{}'", words[0]), {},
                        "nereus api reads its requests from stdin");
    } else {
      run_lines();
    }
    return api::kDone;
  }
  if (const api::Verb verb = api::make_verb(name, caller)) return run_verb(*verb, words, caller);
  if (name.starts_with("-"))
    throw_input_error("cli.unknown-option", fmt::format("expected a verb, not '{}'", name), {},
                      "nereus VERB [arguments]; nereus --help lists the verbs");
  std::vector<std::string> names = api::verb_names();
  names.emplace_back(kApiVerb);
  throw Errors({api::unknown_word("cli.unknown-verb", fmt::format("there is no verb '{}'", name),
                                  name, names)});
}

}  // namespace

void say_error(const Error& error, const Terminal& terminal) {
  // Does not use fmt::print, which throws if stderr is closed; the exit code must still be
  // returned.
  const std::string text = colored(to_text(error), terminal) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int run(const std::vector<std::string>& words) {
  const Terminal err = api::detect_terminal(STDERR_FILENO);
  TerminalCaller caller(api::detect_terminal(STDOUT_FILENO), err);
  try {
    return dispatch(words, caller);
  } catch (const Infeasible& nothing) {
    caller.end_progress();
    report(nothing, err);
    return api::kNothingFeasible;
  } catch (const Errors& errors) {
    caller.end_progress();
    report(errors, err);
    return api::exit_code_of(errors);
  } catch (const ReaderGone&) {
    return api::kDone;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error[environment.memory]: out of memory\n");
    return api::kBadEnvironment;
  } catch (const std::exception& error) {
    caller.end_progress();
    fmt::print(stderr, "nereus: bug: {}\nPlease report this with the command you ran.\n",
               error.what());
    return api::kBug;
  }
}

}  // namespace nereus::cli
