// Reads a launch script as the commands that it would run, without running it. Supports enough of
// the POSIX shell and bash for typical training scripts.
//
//   Script s = read_script(text, "pretrain.sh");
//   s.commands[0].words;     // {"torchrun", "--nproc_per_node", "8", "pretrain_gpt.py", ...}
//
// Supported: comments, line continuation, quotes, variables and their defaults (${TP:-8}), arrays
// (A=( .. ), A+=( .. ), "${A[@]}"), whole-number arithmetic ($((A * B))), if and && after simple
// tests ([ "$X" = y ], [[ $N -gt 1 ]]), here-documents (skipped), strings that contain scripts
// (bash -c "..."). Functions are read as if they were called where they are defined. Values that
// are only known at run time ($1, $(hostname), environment variables) give words that are not
// `known`. Lines under a condition or loop that cannot be decided are ignored, and listed in
// `left_out`.
//
// Nothing is executed and no file is read. Text and words are limited in size.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::exporting {

struct Word {
  std::string text;
  int line = 0;
  bool known = true;  // false if a part of it is only known at run time; that part is as written
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
      variables;  // at the end; arrays have several values
};

// Throws Errors ("import.script"): text that is not UTF-8, an unclosed quote, far too many words.
Script read_script(std::string_view text, const std::string& file);

}  // namespace nereus::exporting
