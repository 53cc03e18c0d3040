// Rows of the catalog's CSV files by column name, with checked numbers. An empty cell is 0. A cell
// that is not a number, or a missing column, throws Errors with its place.
//
//   const Cells cells(text, "catalog/devices.csv");
//   for (const Cells::Row row : cells) row.number("memory_gb");
#pragma once

#include <string>
#include <string_view>

#include "spec/csv.hpp"

namespace nereus::cluster {

std::string lower(std::string_view text);  // of ASCII letters, for comparing names

class Cells {
 public:
  Cells(std::string_view text, const std::string& file) : csv_(spec::parse_csv(text, file)) {}

  struct Row {
    const spec::Csv& csv;
    const spec::CsvRow& row;
    const std::string& text(const char* column) const;
    double number(const char* column) const;
    int integer(const char* column) const;
    Where where(const char* column = nullptr) const;
  };

  struct Iterator {
    const spec::Csv& csv;
    size_t at;
    Row operator*() const { return {csv, csv.rows[at]}; }
    Iterator& operator++() { return ++at, *this; }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  Iterator begin() const { return {csv_, 0}; }
  Iterator end() const { return {csv_, csv_.rows.size()}; }

 private:
  spec::Csv csv_;
};

}  // namespace nereus::cluster
