// The request of one verb. Each field is declared once, with its name, kind, range and help text.
// The options of the command line (cli/text/parse_words.hpp), the help, requests in JSON and their
// schema (api/form/request_json.hpp) are derived from these declarations.
//
//   Command command("catalog", "list what Nereus knows");
//   command.argument("KIND", kind, "what to list", {"models", "nodes"});
//   command.whole("--tp", request.tp, 1, "tensor-parallel degree");
//   command.example("nereus catalog models llama", "models whose name contains llama");
//   command.run = [&] { return kDone; };
//
// Every value arrives as text and is checked in one place, whether it comes from a command line or
// from JSON. Targets are references: the variables must outlive the command.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace nereus::api {

struct Choice {
  std::string word;
  std::function<void()> take;
};

using Take = std::function<void(const std::string& text, ErrorList& errors)>;

enum class FieldKind {
  kFlag,    // true, or not given
  kToggle,  // true or false
  kText,
  kWhole,
  kNumber,
  kChoice,    // one of `words`
  kList,      // 1,2,4 or 2..8 or words, with commas
  kQuantity,  // "24h"; in JSON also a number, in SI units
  kPairs,     // NAME=VALUE
};

struct Option {
  std::string names;  // "--long" or "-s,--long"; for a positional argument, the name of its value
  std::string value;  // name of the value in help; empty: the option has no value
  std::string help;
  std::string group;
  FieldKind kind = FieldKind::kText;
  std::function<std::string(double)> write = {};  // for kQuantity: formats a number with its unit
  std::vector<std::string> words = {};
  int least = 0;  // smallest value of a kWhole
  bool positional = false;
  bool required = false;
  bool many = false;
  bool greedy = false;    // consumes all words up to the next option
  bool of_words = false;  // only meaningful on a command line, not in JSON
  Take take = {};
  std::vector<std::string> given = {};

  bool is(std::string_view name) const;
  std::string long_name() const;
  std::string key() const;  // in JSON: "--micro-batch" is micro_batch, RUNS.csv is runs
};

class Command {
 public:
  Command(std::string name, std::string summary);

  // A paragraph of help below the usage line; example() adds one line at the end of the help.
  void about(std::string text);
  void example(std::string line, std::string what);
  // Heading of the options that are declared next.
  void group(std::string title);

  // Names are "--long" or "-s,--long". VALUE is the name of the value in help.
  void flag(std::string names, bool& target, std::string help);
  void toggle(std::string names, std::optional<bool>& target, std::string help);  // --x, --x=off
  void text(std::string names, std::string value, std::string& target, std::string help);
  void texts(std::string names, std::string value, std::vector<std::string>& target,
             std::string help);  // may be repeated
  void list(std::string names, Take take, std::string help);
  void pairs(std::string names, std::string value, Take take, std::string help);  // may be repeated
  void quantity(std::string names, std::string value, std::function<std::string(double)> write,
                Take take, std::string help);
  // One or more values after the name, up to the next option; may be repeated.
  void files(std::string names, std::string value, std::vector<std::string>& target,
             std::string help);
  void whole(std::string names, std::optional<int>& target, int least, std::string help);
  void number(std::string names, std::optional<double>& target, std::string help);
  void choice(std::string names, std::vector<Choice> choices, std::string help);
  // Any other text: `take` is called with each value and reports errors in it.
  void custom(std::string names, std::string value, Take take,
              std::string help);  // may be repeated

  // Positional arguments, in order. An argument with an empty default is required.
  void argument(std::string value, std::string& target, std::string help,
                std::vector<std::string> choices = {});
  void optional_argument(std::string value, std::string& target, std::string help,
                         std::vector<std::string> choices = {});
  void arguments(std::string value, std::vector<std::string>& target, std::string help);
  void optional_arguments(std::string value, std::vector<std::string>& target, std::string help);

  // Everything after "--", unchanged: a command of the user.
  void rest(std::string value, std::vector<std::string>& target, std::string help);

  // Marks the last declared option as one about output: it only exists on the command line.
  void of_words();

  // Passes a value to its target and adds any error to `errors`.
  void give(Option& option, const std::string& text, ErrorList& errors) const;
  Option* find(std::string_view name);  // "--tp" or "-o"; null if there is none
  std::vector<std::string> option_names() const;
  std::string usage() const;

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  const std::string& about() const { return about_; }
  const std::vector<std::pair<std::string, std::string>>& examples() const { return examples_; }
  std::vector<Option>& options() { return options_; }
  const std::vector<Option>& options() const { return options_; }
  // The target of rest(); null if words after "--" are not allowed.
  std::vector<std::string>* rest_target() const { return rest_; }
  const std::string& rest_value() const { return rest_value_; }
  const std::string& rest_help() const { return rest_help_; }

  std::function<int()> run;  // called after all values are given; returns the exit code

 private:
  Option& add(std::string names, std::string value, FieldKind kind, std::string help);

  std::string name_;
  std::string summary_;
  std::string about_;
  std::string group_ = "Options";
  std::vector<Option> options_;
  std::vector<std::pair<std::string, std::string>> examples_;
  std::string rest_value_, rest_help_;
  std::vector<std::string>* rest_ = nullptr;
};

// An input error about an unknown word. The hint is the nearest of `known`, or all of them if they
// are few.
Error unknown_word(std::string code, std::string message, std::string_view word,
                   const std::vector<std::string>& known);

}  // namespace nereus::api
