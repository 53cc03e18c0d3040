// Errors of users and of the environment, and checks for bugs.
//
// There are four kinds of failure, never mixed. An outcome (infeasible, out of memory) is a value,
// not an error. A user error and an environment error are `Error`s: a stable code, what is wrong
// (with the numbers), where it is wrong, and the nearest valid choice. They are thrown as `Errors`,
// so that everything wrong with an input is reported at once. A bug is a failed NEREUS_CHECK, which
// no input may reach.
//
//   ErrorList errors;
//   if (heads % tp != 0) errors.add("plan.heads", fmt::format("..."), {}, "tp = 1, 2 or 4");
//   errors.throw_if_any();
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace nereus {

enum class ErrorKind { kInput, kEnvironment };

// A place in a file. Line and column count from 1, columns in characters; 0 means the whole file.
// `line_text` is the line, or the part of a long line that starts at column `text_column`.
struct Where {
  std::string file;
  int line = 0;
  int column = 0;
  std::string line_text = {};  // initialized, so that {file, line} is enough
  int text_column = 1;
  bool operator==(const Where&) const = default;
};

struct Error {
  std::string code;     // stable, dotted: "spec.unknown-key"
  std::string message;  // what is wrong, with the rule and the numbers
  Where where = {};
  std::string hint = {};  // the nearest valid choice; may be empty
  ErrorKind kind = ErrorKind::kInput;
  bool operator==(const Error&) const = default;
};

class Errors : public std::runtime_error {
 public:
  explicit Errors(std::vector<Error> list);
  const std::vector<Error>& list() const { return list_; }

 private:
  std::vector<Error> list_;
};

// Collects errors, so that all are reported together.
class ErrorList {
 public:
  void add(std::string code, std::string message, Where where = {}, std::string hint = {});
  void add(Error error) { list_.push_back(std::move(error)); }
  bool empty() const { return list_.empty(); }
  const std::vector<Error>& list() const { return list_; }
  void throw_if_any() const;

 private:
  std::vector<Error> list_;
};

[[noreturn]] void throw_input_error(std::string code, std::string message, Where where = {},
                                    std::string hint = {});
[[noreturn]] void throw_environment_error(std::string code, std::string message,
                                          std::string hint = {});

// "what.code: message\n  --> file:3:7\n   3 | line\n     |       ^\n  hint: ..."
std::string to_text(const Error& error);

[[noreturn]] void check_failed(const char* expression, const char* file, int line,
                               const std::string& message);

}  // namespace nereus

#define NEREUS_CHECK(condition, message) \
  ((condition) ? void(0) : ::nereus::check_failed(#condition, __FILE__, __LINE__, (message)))
