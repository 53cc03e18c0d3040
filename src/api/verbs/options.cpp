#include "api/verbs/options.hpp"

namespace nereus::api {

void add_output_options(Command& command, OutputOptions& output, bool with_file) {
  command.group("Output");
  const auto format = [&output](const char* word, Format value) {
    return Choice{word, [&output, value] { output.format = value; }};
  };
  command.choice("--format",
                 {format("table", Format::kTable), format("json", Format::kJson),
                  format("csv", Format::kCsv), format("md", Format::kMarkdown)},
                 "output format (default: table); json and csv contain raw SI numbers");
  command.of_words();
  if (with_file) {
    command.text("-o,--output", "FILE", output.file, "write the result to FILE instead of stdout");
    command.of_words();
  }
}

}  // namespace nereus::api
