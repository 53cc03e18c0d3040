// A launch script as the commands it would run, without running it: enough of the POSIX shell and
// of bash for the scripts people start trainings with.
//
//   Script s = read_script(text, "pretrain.sh");
//   s.commands[0].words;     // {"torchrun", "--nproc_per_node", "8", "pretrain_gpt.py", ...}
//
// Understood: comments, line continuation, quotes, variables and their defaults (${TP:-8}), arrays
// (A=( .. ), A+=( .. ), "${A[@]}"), whole-number arithmetic ($((A * B))), if and && after simple
// tests ([ "$X" = y ], [[ $N -gt 1 ]]), here-documents (skipped), strings that are scripts
// themselves (bash -c "..."). Functions are read as if they were called where they stand. What is
// only known at run time ($1, $(hostname), variables of the environment) gives words that are not
// `known`; lines under a condition or a loop that cannot be decided are left out and named in
// `left_out`.
//
// Nothing is executed and no file is read. Text and words are bounded, whatever the script says.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::exporting {

struct Word {
  std::string text;
  int line = 0;
  bool known =
      true;  // false where a part of it is decided at run time; that part as it was written
};

struct Command {
  std::vector<Word> words;
  int line = 0;
};

struct LeftOut {
  int line = 0;
  std::string what;  // "a condition that is decided at run time"
};

struct Script {
  std::vector<Command> commands;
  std::vector<std::string> comments;  // without the leading #, in order
  std::vector<LeftOut> left_out;
  std::map<std::string, std::vector<Word>, std::less<>>
      variables;  // at the end; arrays have several
};

// Throws Errors ("import.script"): text that is no UTF-8, a quote that never ends, far too many
// words.
Script read_script(std::string_view text, const std::string& file);

}  // namespace nereus::exporting
