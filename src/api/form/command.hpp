// One verb's request: each field declared once, with its name, kind, range and words. From that
// follow the options of the command line (cli/text/parse_words.hpp), help, requests in JSON and
// their schema (api/form/request_json.hpp).
//
//   Command command("catalog", "list what Nereus knows");
//   command.argument("KIND", kind, "what to list", {"models", "nodes"});
//   command.whole("--tp", request.tp, 1, "tensor-parallel degree");
//   command.example("nereus catalog models llama", "models whose name contains llama");
//   command.run = [&] { return kDone; };
//
// Every value comes as text and is checked in one place, whichever way it came. Targets are
// references: what they refer to outlives the command.
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
  std::string names;  // "--long" or "-s,--long"; of an argument without dashes its value's name
  std::string value;  // what the value is called in help; empty: takes none
  std::string help;
  std::string group;
  FieldKind kind = FieldKind::kText;
  std::function<std::string(double)> write = {};  // of kQuantity: a number with its unit
  std::vector<std::string> words = {};
  int least = 0;  // of kWhole
  bool positional = false;
  bool required = false;
  bool many = false;
  bool greedy = false;    // takes all words up to the next option
  bool of_words = false;  // means something on a command line alone
  Take take = {};
  std::vector<std::string> given = {};

  bool is(std::string_view name) const;
  std::string long_name() const;
  std::string key() const;  // in JSON: "--micro-batch" is micro_batch, RUNS.csv is runs
};

class Command {
 public:
  Command(std::string name, std::string summary);

  // A paragraph of help below the usage line, and examples at its end.
  void about(std::string text);
  void example(std::string line, std::string what);
  // Heading of the options that follow.
  void group(std::string title);

  // Names are "--long" or "-s,--long". VALUE is what the value is called in help.
  void flag(std::string names, bool& target, std::string help);
  void toggle(std::string names, std::optional<bool>& target, std::string help);  // --x, --x=off
  void text(std::string names, std::string value, std::string& target, std::string help);
  void texts(std::string names, std::string value, std::vector<std::string>& target,
             std::string help);  // may be repeated
  void list(std::string names, Take take, std::string help);
  void pairs(std::string names, std::string value, Take take, std::string help);  // may be repeated
  void quantity(std::string names, std::string value, std::function<std::string(double)> write,
                Take take, std::string help);
  // One or several values after the name, up to the next option; may be repeated.
  void files(std::string names, std::string value, std::vector<std::string>& target,
             std::string help);
  void whole(std::string names, std::optional<int>& target, int least, std::string help);
  void number(std::string names, std::optional<double>& target, std::string help);
  void choice(std::string names, std::vector<Choice> choices, std::string help);
  // Any other text: `take` is called with each value and adds what is wrong with it.
  void custom(std::string names, std::string value, Take take,
              std::string help);  // may be repeated

  // Arguments without a dash, in order. An empty default makes one required.
  void argument(std::string value, std::string& target, std::string help,
                std::vector<std::string> choices = {});
  void optional_argument(std::string value, std::string& target, std::string help,
                         std::vector<std::string> choices = {});
  void arguments(std::string value, std::vector<std::string>& target, std::string help);
  void optional_arguments(std::string value, std::vector<std::string>& target, std::string help);

  // Everything after "--", whatever it looks like: a command of the user's own.
  void rest(std::string value, std::vector<std::string>& target, std::string help);

  // The option just declared says how an answer is shown or kept: other faces have no use for it.
  void of_words();

  // Hands a value to its target; what is wrong with it goes to `errors`.
  void give(Option& option, const std::string& text, ErrorList& errors) const;
  Option* find(std::string_view name);  // "--tp" or "-o"; null where there is none
  std::vector<std::string> option_names() const;
  std::string usage() const;

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  const std::string& about() const { return about_; }
  const std::vector<std::pair<std::string, std::string>>& examples() const { return examples_; }
  std::vector<Option>& options() { return options_; }
  const std::vector<Option>& options() const { return options_; }
  // Of rest(): null where everything after "--" means nothing.
  std::vector<std::string>* rest_target() const { return rest_; }
  const std::string& rest_value() const { return rest_value_; }
  const std::string& rest_help() const { return rest_help_; }

  std::function<int()> run;  // after all values are given; returns the exit code

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

// An input error about a word nobody knows, with the nearest of `known` as the hint, else all of
// them where they are few.
Error unknown_word(std::string code, std::string message, std::string_view word,
                   const std::vector<std::string>& known);

}  // namespace nereus::api
