// The options of a command in a script: "--name value", "--name=value", "--name".
//
//   Flags flags(words, source, errors);
//   const int tp = flags.whole("--tensor-model-parallel-size", 1);
//
// The last of several occurrences counts, as with argparse. A value that is not a number, or only
// known at run time, is an error with its place ("import.value").
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "export/shell.hpp"
#include "spec/source.hpp"

namespace nereus::exporting {

class Flags {
 public:
  struct Occurrence {
    std::vector<Word> values;
    int line = 0;
  };

  // Reads words[first] and the following. Words before the first option are ignored.
  Flags(const std::vector<Word>& words, std::size_t first, spec::SourcePtr source,
        ErrorList& errors);

  bool has(std::string_view name) const { return given_.find(name) != given_.end(); }
  int whole(std::string_view name, int fallback, int least = 0);
  double number(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string fallback = {});
  std::vector<std::string> texts(std::string_view name) const;
  // "true", "1", "yes" or no value mean true; for options with an optional truth value.
  bool truth(std::string_view name, bool fallback);

  const std::map<std::string, Occurrence, std::less<>>& given() const { return given_; }
  int line_of(std::string_view name) const;
  Where where(std::string_view name) const;
  void fail(std::string_view name, std::string code, std::string message, std::string hint = {});

 private:
  const Word* value_of(std::string_view name);

  std::map<std::string, Occurrence, std::less<>> given_;
  spec::SourcePtr source_;
  ErrorList& errors_;
};

}  // namespace nereus::exporting
