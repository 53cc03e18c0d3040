// Converts a Report to text, and writes it; no other code does.
//
//   std::string text = render(report, Format::kMarkdown, terminal);
//   write_stdout(text);
//
// Tables fit the terminal: text columns are cut or wrapped, then columns of high rank are dropped
// (a note says which). JSON is one object: each table is an array of objects under its name, each
// record an object. Numbers are raw SI.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/form/report.hpp"
#include "api/text/terminal.hpp"

namespace nereus::cli {

using api::Cell;
using api::Column;
using api::Format;
using api::Report;
using api::Table;
using api::Terminal;

std::string render(const Report& report, Format format, const Terminal& terminal);
std::string render_text(const Report& report, const Terminal& terminal);
std::string render_csv(const Report& report);
std::string render_markdown(const Report& report);

// The reader closed the pipe: not an error.
struct ReaderGone {};

// Writes everything to stdout. Throws ReaderGone if the pipe is closed, and an environment error if
// the disk is full.
void write_stdout(std::string_view text);

}  // namespace nereus::cli
