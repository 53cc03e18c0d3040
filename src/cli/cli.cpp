#include "cli/cli.hpp"
#include "cli/text/exit_codes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "base/infeasible.hpp"
#include "cli/text/say_error.hpp"
#include "cli/verbs/verbs.hpp"

namespace nereus::cli {

namespace {

std::vector<Verb> all_verbs(const Session& session) {
  std::vector<Verb> verbs;
  for (const auto make :
       {plan_verb, predict_verb, simulate_verb, explore_verb, recommend_verb, measure_verb,
        train_verb, agent_verb, data_verb, explain_verb, export_verb, import_verb, validate_verb,
        calibrate_verb, reproduce_verb, catalog_verb, doctor_verb, version_verb}) {
    verbs.push_back(make(session));
  }
  return verbs;
}

std::string overview(const std::vector<Verb>& verbs) {
  std::string text =
      "Nereus: how to train a large model on the machines one has, how fast it goes, what it "
      "costs.\n\nUsage: nereus VERB [arguments]\n\nVerbs:\n";
  for (const Verb& verb : verbs) text += fmt::format("  {:<12}{}\n", verb->name(), verb->summary());
  return text +
         "\nnereus VERB --help tells more, with examples. Results go to stdout, all else to "
         "stderr.\n"
         "Exit codes: 0 done; 2 wrong usage or input; 3 nothing feasible; 4 environment; 5 a "
         "worker failed; 10 stopped early; 75 preempted after a saved checkpoint; 1 a bug.\n";
}

// "error[code]" in red and "hint:" in cyan, where stderr shows colours.
std::string colored(std::string text, const Terminal& terminal) {
  if (const size_t end = text.find(':'); text.starts_with("error") && end != std::string::npos) {
    text.replace(0, end, styled(text.substr(0, end), Style::kRed, terminal));
  }
  if (const size_t at = text.rfind("\n  hint:"); at != std::string::npos) {
    text.replace(at + 3, 5, styled("hint:", Style::kCyan, terminal));
  }
  return text;
}

int report(const Errors& errors, const Terminal& terminal) {
  int code = kBadInput;
  for (const Error& error : errors.list()) {
    say_error(error, terminal);
    if (error.kind == ErrorKind::kEnvironment) code = kBadEnvironment;
  }
  return code;
}

int dispatch(std::vector<std::string> words, const Session& session) {
  const std::vector<Verb> verbs = all_verbs(session);
  const int width = session.out.width;
  if (words.empty()) {
    fmt::print(stderr, "{}", overview(verbs));
    return kBadInput;
  }
  if (words[0] == "--version") words[0] = "version";
  if (words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    if (words.size() < 2 || words[0] != "help") {
      write_stdout(overview(verbs));
      return kDone;
    }
    words = {words[1], "--help"};
  }
  for (const Verb& verb : verbs) {
    if (verb->name() != words[0]) continue;
    words.erase(words.begin());
    if (verb->asks_for_help(words)) {
      write_stdout(verb->help(width));
      return kDone;
    }
    verb->parse(words);
    return verb->run();
  }
  std::vector<std::string> names;
  for (const Verb& verb : verbs) names.push_back(verb->name());
  const bool option = words[0].starts_with("-");
  throw Errors(
      {option ? Error{"cli.unknown-option",
                      fmt::format("'{}' stands where a verb is expected", words[0]),
                      {},
                      "nereus VERB [arguments]; nereus --help lists the verbs",
                      ErrorKind::kInput}
              : unknown_word("cli.unknown-verb", fmt::format("there is no verb '{}'", words[0]),
                             words[0], names)});
}

}  // namespace

void say_error(const Error& error, const Terminal& terminal) {
  // Not fmt::print: it throws where stderr is closed, and the exit code is what still gets through.
  const std::string text = colored(to_text(error), terminal) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int run(const std::vector<std::string>& words) {
  const Session session{detect_terminal(STDOUT_FILENO), detect_terminal(STDERR_FILENO)};
  try {
    return dispatch(words, session);
  } catch (const Infeasible& nothing) {
    report(nothing, session.err);
    return kNothingFeasible;
  } catch (const Errors& errors) {
    return report(errors, session.err);
  } catch (const ReaderGone&) {
    return kDone;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error[environment.memory]: out of memory\n");
    return kBadEnvironment;
  } catch (const std::exception& error) {
    fmt::print(stderr, "nereus: bug: {}\nPlease report this with the command you ran.\n",
               error.what());
    return kBug;
  }
}

}  // namespace nereus::cli
