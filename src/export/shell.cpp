#include "export/shell.hpp"

#include <fmt/format.h>

#include <cctype>

#include "export/shell_words.hpp"

namespace nereus::exporting {

namespace {

// One `if`: whether its lines count now, and whether a branch was taken or can never be known.
struct Branch {
  bool outer = true;
  bool taken = false;
  bool undecided = false;
};

// Skipped lines; only reported if they contain something that could be an option.
struct Passed {
  int line = 0;
  std::string what;
  bool told = false;
};

Truth both(Truth a, Truth b) {
  if (a == Truth::kFalse || b == Truth::kFalse) return Truth::kFalse;
  return a == Truth::kTrue && b == Truth::kTrue ? Truth::kTrue : Truth::kUnknown;
}

Truth either(Truth a, Truth b) {
  if (a == Truth::kTrue || b == Truth::kTrue) return Truth::kTrue;
  return a == Truth::kFalse && b == Truth::kFalse ? Truth::kFalse : Truth::kUnknown;
}

class Interpreter {
 public:
  Interpreter(std::string_view text, Script& script, Budget& budget, int first_line, int depth)
      : script_(script),
        reader_(text, script.variables, budget, first_line),
        budget_(budget),
        depth_(depth) {}

  void run() {
    while (skip_to_command()) one_command();
  }

 private:
  // Blank space, separators and comments before a command; false at the end.
  bool skip_to_command() {
    while (!reader_.at_end()) {
      const char c = reader_.peek();
      if (c == '#') {
        const std::string comment = reader_.comment();
        if (depth_ == 0) script_.comments.push_back(comment);
      } else if (c == '\n' || c == ';') {
        reader_.next_separator();
        next_counts_ = true;
      } else if (c == ' ' || c == '\t' || c == '\r' || reader_.looking_at("\\\n") || c == '&' ||
                 c == '|' || c == '(' || c == ')') {
        reader_.skip_one();
      } else {
        return true;
      }
    }
    return false;
  }

  bool active() const { return active_ && loops_ == 0 && next_counts_; }

  // Called for every word that is not counted.
  void pass_over(const std::string& text) {
    if (passed_.empty() || passed_.back().told || text.find("--") == std::string::npos) return;
    passed_.back().told = true;
    if (depth_ == 0 && script_.left_out.size() < 100)
      script_.left_out.push_back({passed_.back().line, passed_.back().what});
  }

  // An assignment at this place, also after export and similar; returns false if there is none.
  bool assignment() {
    std::string name;
    bool append = false;
    if (!reader_.assignment_name(name, append)) return false;
    std::vector<Word> value;
    if (reader_.looking_at("(")) {
      value = reader_.array();
    } else {
      value = {reader_.value()};
    }
    if (!active()) {
      for (const Word& word : value) pass_over(word.text);
      return true;
    }
    auto& variable = script_.variables[name];
    if (!append) {
      variable = std::move(value);
    } else if (value.size() == 1 && variable.size() == 1 && !reader_.was_array()) {
      variable[0].text += value[0].text;
    } else {
      variable.insert(variable.end(), value.begin(), value.end());
    }
    for (const Word& word : variable) budget_.spend(word.text.size() + 1, reader_.line());
    return true;
  }

  void one_command() {
    Command command{{}, reader_.line()};
    bool first = true;
    bool brackets = false;
    while (!reader_.at_command_end(brackets)) {
      if (reader_.skip_blank()) continue;
      if (reader_.redirection()) continue;
      if (first && assignment()) continue;
      const std::vector<Word> words = reader_.words();
      for (const Word& word : words) {
        if (first && keyword(word.text)) return;
        if (first && (word.text == "export" || word.text == "declare" || word.text == "local" ||
                      word.text == "readonly" || word.text == "-a" || word.text == "-x")) {
          continue;
        }
        if (first && word.text == "[[") brackets = true;
        if (word.text == "]]") brackets = false;
        first = false;
        command.words.push_back(word);
        budget_.spend(word.text.size() + 1, word.line);
      }
    }
    const std::string end = reader_.command_end();
    if (!command.words.empty()) finish(command, end);
  }

  // Reserved words in the position of a command.
  bool keyword(const std::string& word) {
    if (word == "if" || word == "elif") {
      if (word == "if") {
        branches_.push_back({active(), false, false});
      } else if (!branches_.empty()) {
        active_ = branches_.back().outer;
      }
      condition_ = true;
      return true;
    }
    if (word == "then" || word == "do" || word == "{" || word == "}" || word == "!") return true;
    if (word == "else") {
      if (!branches_.empty()) {
        Branch& branch = branches_.back();
        active_ = branch.outer && !branch.taken && !branch.undecided;
      }
      return true;
    }
    if (word == "fi") {
      if (!branches_.empty()) {
        active_ = branches_.back().outer;
        if (branches_.back().undecided && !passed_.empty()) passed_.pop_back();
        branches_.pop_back();
      }
      return true;
    }
    if (word == "for" || word == "while" || word == "until" || word == "select") {
      passed_.push_back({reader_.line(), "a loop"});
      ++loops_;
      return true;
    }
    if (word == "done") {
      if (loops_ > 0) {
        --loops_;
        if (!passed_.empty()) passed_.pop_back();
      }
      return true;
    }
    if (word == "case") {
      passed_.push_back({reader_.line(), "a case"});
      if (active())
        pass_over(std::string(reader_.skip_past_word("esac")));
      else
        reader_.skip_past_word("esac");
      passed_.pop_back();
      return true;
    }
    if (word == "function") {
      reader_.skip_rest_of_line_before('{');
      return true;
    }
    return false;
  }

  void finish(const Command& marked, const std::string& end) {
    Command command{{}, marked.line};
    for (const Word& word : marked.words) command.words.push_back(finished(word));
    const Truth truth = test_result(command.words);
    if (condition_) return part_of_condition(truth, command.line, end);
    const bool counted = active();
    if (!counted)
      for (const Word& word : command.words) pass_over(word.text);
    if (after_test_) passed_.pop_back();
    after_test_ = false;
    next_counts_ = true;
    if (end == "&&" || end == "||") {
      const bool test = truth != Truth::kNoTest;
      const Truth wanted = end == "&&" ? Truth::kTrue : Truth::kFalse;
      next_counts_ = counted && (test ? truth == wanted : end == "&&");
      if (counted && truth == Truth::kUnknown) {
        passed_.push_back({command.line, "a condition that is decided at run time"});
        after_test_ = true;
      }
    }
    if (!counted || truth != Truth::kNoTest) return;
    script_.commands.push_back(command);
    if (depth_ >= 3) return;
    // A word that is a script itself: its commands follow as commands of their own.
    for (const Word& word : marked.words) {
      if (word.text.find("--") == std::string::npos ||
          word.text.find_first_of(" \n\t") == std::string::npos)
        continue;
      Interpreter(word.text, script_, budget_, word.line, depth_ + 1).run();
    }
  }

  // if A && B || C; then: combines each part with the previous ones. A command that is not a test
  // is not run.
  void part_of_condition(Truth truth, int line, const std::string& end) {
    if (truth == Truth::kNoTest) truth = Truth::kUnknown;
    if (joined_by_ == "&&") truth = both(so_far_, truth);
    if (joined_by_ == "||") truth = either(so_far_, truth);
    so_far_ = truth;
    joined_by_ = end;
    if (end == "&&" || end == "||") return;
    joined_by_.clear();
    condition_ = false;
    next_counts_ = true;
    decide(truth, line);
  }

  void decide(Truth truth, int line) {
    if (branches_.empty()) return;
    Branch& branch = branches_.back();
    const bool open = branch.outer && !branch.taken && !branch.undecided;
    if (open && truth == Truth::kUnknown) {
      branch.undecided = true;
      passed_.push_back({line, "a condition that is decided at run time"});
    }
    active_ = open && truth == Truth::kTrue;
    if (active_) branch.taken = true;
  }

  Script& script_;
  ShellReader reader_;
  Budget& budget_;
  int depth_ = 0;
  std::vector<Branch> branches_;
  bool active_ = true;
  std::vector<Passed> passed_;
  bool after_test_ = false;  // the innermost of them is the command behind an undecided test
  Truth so_far_ = Truth::kNoTest;
  std::string joined_by_;
  bool condition_ = false;   // the command being read is that of an if
  bool next_counts_ = true;  // false after a test && that failed
  int loops_ = 0;
};

}  // namespace

Script read_script(std::string_view text, const std::string& file) {
  Script script;
  Budget budget(text, file);
  Interpreter(budget.text(), script, budget, 1, 0).run();
  for (auto& [name, words] : script.variables)
    for (Word& word : words) word = finished(std::move(word));
  return script;
}

}  // namespace nereus::exporting
