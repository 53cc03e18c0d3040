// Reads cells of one row of a table by column name. Errors in cells are collected with their
// places, so that all errors of a table are reported at once.
//
//   Cells cells(csv, row, errors);
//   const int gpus = cells.whole("gpus", 2, 65536);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "simulate/network/collective.hpp"
#include "spec/csv.hpp"

namespace nereus::simulate {

class Cells {
 public:
  Cells(const spec::Csv& csv, const spec::CsvRow& row, ErrorList& errors)
      : csv_(csv), row_(row), errors_(errors) {}

  const std::string& text(std::string_view column) const {
    return csv_.cell(row_, csv_.find(column));
  }
  bool blank(std::string_view column) const { return text(column).empty(); }
  // Parts between separators; "a|b" -> {"a", "b"}.
  std::vector<std::string> parts(std::string_view column, char separator) const;

  // Returns `least`, and adds an error, if the cell is out of range or not a number.
  std::int64_t whole(std::string_view column, std::int64_t least, std::int64_t most);
  double number(std::string_view column, double least, double most);
  std::int64_t whole_of(std::string_view column, const std::string& text, std::int64_t least,
                        std::int64_t most);
  double number_of(std::string_view column, const std::string& text, double least, double most);
  // The index of the word in `known`, ignoring case. An unknown word gives 0, and an error that
  // names the nearest word.
  std::size_t word_of(std::string_view column, const std::string& text,
                      const std::vector<std::string>& known);

  // The value of the column "collective".
  Collective collective();

  void wrong(std::string_view column, std::string message, std::string hint = {});

 private:
  const spec::Csv& csv_;
  const spec::CsvRow& row_;
  ErrorList& errors_;
};

}  // namespace nereus::simulate
