#include "search/explore/footprint.hpp"
#include "tests/source_dir.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace nereus::explore::footprint_test {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

// As the table prints them: two decimals at most, without zeros at the end.
std::string printed(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// data/comet/transformer1t_derived.csv, every digit.
TEST(Footprint, EqualsTheDerivedTable) {
  std::ifstream file(source_dir() + "/data/comet/transformer1t_derived.csv");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  int rows = 0;
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const std::vector<std::string> cells = cells_of(line);
    ASSERT_EQ(cells.size(), 12U);
    const Footprint f =
        footprint({128, 25600, 160, 2048}, std::stod(cells[0]), std::stod(cells[1]));
    EXPECT_EQ(fmt::format("{:.4e}", f.parameters), cells[2]);
    for (std::size_t stage = 0; stage < 4; ++stage)
      EXPECT_EQ(printed(f.zero[stage] / 1e9), cells[3 + stage]) << line;
    EXPECT_EQ(printed(f.activations / 1e9), cells[7]) << line;
    EXPECT_EQ(printed(f.layer_inputs / 1e9), cells[8]) << line;
    EXPECT_EQ(printed(f.tensor_all_reduce), cells[9]) << line;
    EXPECT_EQ(printed(f.num_tensor_all_reduces), cells[10]) << line;
    EXPECT_EQ(printed(f.data_all_reduce / 1e6), cells[11]) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 11);
}

}  // namespace
}  // namespace nereus::explore::footprint_test
