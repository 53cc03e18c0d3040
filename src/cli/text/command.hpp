// One verb's arguments: declared once, used for parsing, for help and for the nearest choice when a
// word is wrong.
//
//   Command command("catalog", "list what Nereus knows");
//   command.argument("KIND", kind, "what to list", {"models", "nodes"});
//   command.whole("--tp", request.tp, 1, "tensor-parallel degree");
//   command.example("nereus catalog models llama", "models whose name contains llama");
//   command.run = [&] { return kDone; };
//
// parse() throws one Errors with everything that is wrong: unknown options, values that are not
// numbers, missing arguments. Targets are references: what they refer to outlives the command.
// CLI11 does the splitting, inside command.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace nereus::cli {

struct Choice {
  std::string word;
  std::function<void()> take;
};

class Command {
 public:
  using Take = std::function<void(const std::string& text, ErrorList& errors)>;

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
  // One or several values after the name, up to the next option; may be repeated.
  void files(std::string names, std::string value, std::vector<std::string>& target,
             std::string help);
  void whole(std::string names, std::optional<int>& target, int least, std::string help);
  void number(std::string names, std::optional<double>& target, std::string help);
  void choice(std::string names, std::vector<Choice> choices, std::string help);
  // Anything else: `take` is called with each value and adds what is wrong with it.
  void custom(std::string names, std::string value, Take take,
              std::string help);  // may be repeated

  // Arguments without a dash, in order. An empty default makes one required.
  void argument(std::string value, std::string& target, std::string help,
                std::vector<std::string> choices = {});
  void optional_argument(std::string value, std::string& target, std::string help);
  void arguments(std::string value, std::vector<std::string>& target, std::string help);
  void optional_arguments(std::string value, std::vector<std::string>& target, std::string help);

  // Everything after "--", whatever it looks like: a command of the user's own.
  void rest(std::string value, std::vector<std::string>& target, std::string help);

  void parse(const std::vector<std::string>& words) const;
  bool asks_for_help(const std::vector<std::string>& words) const;

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  std::string help(int width) const;

  std::function<int()> run;  // after parse; returns the exit code

 private:
  struct Option {
    std::string names;
    std::string value;  // empty: takes none
    std::string help;
    std::string group;
    bool positional = false;
    bool required = false;
    bool many = false;
    bool may_equal = false;  // a flag that also takes =VALUE
    bool greedy = false;     // takes all words up to the next option
    Take take;

    bool is(std::string_view name) const;
    std::string long_name() const;
  };

  Option& add(std::string names, std::string value, std::string help);
  const Option* find(std::string_view name) const;
  std::vector<std::string> option_names() const;
  void check_names(const std::vector<std::string>& words, ErrorList& errors) const;
  std::vector<std::string> one_value_each(const std::vector<std::string>& words) const;
  std::string usage() const;

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

}  // namespace nereus::cli
