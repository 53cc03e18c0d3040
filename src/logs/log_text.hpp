// The text of a log: lines without terminal colours, and the pieces that readers look for.
//
//   LogText log(text, "train.log");
//   for (const LogLine& line : log.lines())
//     if (auto ms = log.number_after(line, "elapsed time per iteration (ms):")) ...
//
// A carriage return ends a line too (progress bars), but does not count as one, so that numbers of
// lines are those of an editor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "logs/train_log.hpp"

namespace nereus::logs {

struct LogLine {
  int number = 0;  // from 1
  std::string text;
};

struct LogBlock {
  std::string text;     // with its brackets, and as many line ends as in the log
  int line = 0;         // of its first bracket
  std::size_t end = 0;  // index of the line after it
};

class LogText {
 public:
  LogText(std::string_view text, std::string file);

  const std::string& file() const { return file_; }
  const std::vector<LogLine>& lines() const { return lines_; }
  Where where(const LogLine& line) const;

  // The number that follows the first `key` of a line, after spaces; thousands may have commas.
  // nullopt if the key is not there. What is no number, not finite, or not between `least` and
  // `most`, is an error "log.value" and nullopt.
  std::optional<double> number_after(const LogLine& line, std::string_view key, double least,
                                     double most, ErrorList& errors) const;
  // The whole number from 1 to 2^20 after a key; 0 if there is none.
  int count_after(const LogLine& line, std::string_view key, ErrorList& errors) const;
  // What stands in brackets from the first `open` in line `index`, from `column` on; nullopt if
  // they are not closed within a million characters.
  std::optional<LogBlock> block(std::size_t index, std::size_t column, char open) const;

 private:
  std::string file_;
  std::vector<LogLine> lines_;
};

// A Python literal (dict, list, string, number, True, None) as JSON; anything else becomes a
// string.
std::string json_of_python(std::string_view text);

// A name and its value as a layout's text places it on the line on which the log has it.
class PlacedLines {
 public:
  explicit PlacedLines(std::string filler) : filler_(std::move(filler)) {}
  // On that line, or on the next one that is free.
  void add(int line, std::string text);
  std::string text() const;

 private:
  std::string filler_;
  std::vector<std::string> lines_;
};

TrainLog read_megatron_log(const LogText& text, ErrorList& errors);
TrainLog read_deepspeed_log(const LogText& text, ErrorList& errors);
TrainLog read_torchtitan_log(const LogText& text, ErrorList& errors);
TrainLog read_nemo_log(const LogText& text, ErrorList& errors);
TrainLog read_huggingface_log(const LogText& text, ErrorList& errors);

// One of Megatron-LM's arguments by its name in Python, as a launch script has it; empty if it says
// nothing there. NeMo's configuration has the same names.
std::string megatron_flag(std::string_view name, std::string_view value);

}  // namespace nereus::logs
