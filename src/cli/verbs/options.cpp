#include "cli/verbs/options.hpp"

#include "base/write_file.hpp"

namespace nereus::cli {

void add_output_options(Command& command, OutputOptions& output, bool with_file) {
  command.group("Output");
  const auto format = [&output](const char* word, Format value) {
    return Choice{word, [&output, value] { output.format = value; }};
  };
  command.choice("--format",
                 {format("table", Format::kTable), format("json", Format::kJson),
                  format("csv", Format::kCsv), format("md", Format::kMarkdown)},
                 "how the result is written (default: table); json and csv hold raw SI numbers");
  if (with_file) {
    command.text("-o,--output", "FILE", output.file, "write the result to FILE instead of stdout");
  }
}

void emit(const Report& report, const OutputOptions& output, const Session& session) {
  constexpr int kFileWidth = 160;  // of tables that no terminal limits
  if (output.file.empty()) {
    Terminal terminal = session.out;
    if (terminal.width == 0) terminal.width = kFileWidth;
    write_stdout(render(report, output.format, terminal));
  } else {
    // Files are read by anyone anywhere: no colour.
    const Terminal plain{.width = kFileWidth, .utf8 = session.out.utf8};
    write_file(output.file, render(report, output.format, plain));
  }
}

}  // namespace nereus::cli
