#include "spec/csv.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>

#include "base/temporary_folder.hpp"

namespace nereus::spec::csv_test {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows cells_of(const Csv& csv) {
  Rows rows;
  for (const CsvRow& row : csv.rows) rows.push_back(row.cells);
  return rows;
}

std::vector<Error> errors_of(std::string_view text) {
  try {
    parse_csv(text, "t.csv");
  } catch (const Errors& errors) {
    return errors.list();
  }
  return {};
}

TEST(Csv, ReadsPlainAndQuotedCells) {
  const Csv csv = parse_csv("a,b\n1,\"x, \"\"y\"\"\"\n\"two\nlines\",\n", "t.csv");
  EXPECT_EQ(csv.columns, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(cells_of(csv), (Rows{{"1", "x, \"y\""}, {"two\nlines", ""}}));
  EXPECT_EQ(csv.rows[0].line, 2);
  EXPECT_EQ(csv.rows[1].line, 3);
}

TEST(Csv, ReadsCrlfByteOrderMarkBlankLinesAndNoFinalNewline) {
  const Csv csv = parse_csv(
      "\xEF\xBB\xBF"
      "a,b\r\n1,2\r\n\r\n3,4",
      "t.csv");
  EXPECT_EQ(csv.columns[0], "a");
  EXPECT_EQ(cells_of(csv), (Rows{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(csv.rows[1].line, 4);
}

TEST(Csv, KeepsAQuoteInsideAPlainCell) {
  const Csv csv = parse_csv("a\n4x\"n1 + 1\"\n", "t.csv");
  EXPECT_EQ(csv.rows[0].cells[0], "4x\"n1 + 1\"");
}

TEST(Csv, FindsColumnsAndCells) {
  const Csv csv = parse_csv("a,b\n1,2\n", "t.csv");
  EXPECT_EQ(csv.find("b"), 1);
  EXPECT_EQ(csv.find("c"), -1);
  EXPECT_EQ(csv.cell(csv.rows[0], 1), "2");
  EXPECT_EQ(csv.cell(csv.rows[0], -1), "");
}

TEST(Csv, PointsAtACell) {
  const Csv csv = parse_csv("a,b,c\n\xC3\xA4,2,3\n\"x\ny\",\"p,q\",r\n", "t.csv");
  EXPECT_EQ(csv.where(csv.rows[0], 1), (Where{"t.csv", 2, 3, "\xC3\xA4,2,3"}));
  EXPECT_EQ(csv.where(csv.rows[1], 2), (Where{"t.csv", 4, 10, "y\",\"p,q\",r"}));
  EXPECT_EQ(csv.where(csv.rows[1]), (Where{"t.csv", 3, 0, "\"x"}));
}

TEST(Csv, ReportsEveryRaggedRow) {
  const auto errors = errors_of("a,b\n1\n1,2\n1,2,3\n");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].code, "spec.ragged-row");
  EXPECT_EQ(errors[0].where.line, 2);
  EXPECT_EQ(errors[1].where.line, 4);
  EXPECT_EQ(errors[1].message, "the row has 3 cells, the header has 2 columns");
}

TEST(Csv, SumsUpManyRaggedRows) {
  std::string text = "a,b\n";
  for (int i = 0; i < 50; ++i) text += "1\n";
  const auto errors = errors_of(text);
  ASSERT_EQ(errors.size(), 11u);
  EXPECT_EQ(errors[10].message, "40 more rows have a wrong number of cells");
}

TEST(Csv, RefusesBrokenText) {
  EXPECT_EQ(errors_of("").at(0).code, "spec.empty");
  EXPECT_EQ(errors_of("\n\n").at(0).code, "spec.empty");
  EXPECT_EQ(errors_of("a,a\n").at(0).code, "spec.duplicate-column");
  EXPECT_EQ(errors_of(std::string_view("a\n\0\n", 4)).at(0).code, "spec.unreadable");
  EXPECT_EQ(errors_of("a\n\xFF\n").at(0).where.line, 2);
  const auto open = errors_of("a,b\n1,\"x\ny\n");
  EXPECT_EQ(open.at(0).where, (Where{"t.csv", 2, 3, "1,\"x"}));
  const auto after = errors_of("a,b\n1,\"x\"y\n");
  EXPECT_EQ(after.at(0).where, (Where{"t.csv", 2, 6, "1,\"x\"y"}));
  EXPECT_EQ(errors_of("a\rb\n").at(0).where.column, 2);
}

TEST(Csv, NamesAllMissingColumns) {
  const Csv csv = parse_csv("layer,gpus\n", "t.csv");
  try {
    csv.require_all({"layers", "gpus", "hidden"});
    FAIL() << "nothing thrown";
  } catch (const Errors& errors) {
    ASSERT_EQ(errors.list().size(), 2u);
    EXPECT_EQ(errors.list()[0].code, "spec.missing-column");
    EXPECT_EQ(errors.list()[0].hint, "did you mean the column \"layer\"?");
    EXPECT_EQ(errors.list()[1].message, "there is no column \"hidden\"");
  }
  csv.require_all({"gpus"});
}

TEST(Csv, ExplainsAWrongSeparator) {
  const Csv csv = parse_csv("layers;gpus\n1;2\n", "t.csv");
  try {
    csv.require_all({"layers"});
    FAIL() << "nothing thrown";
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list()[0].hint, "columns are separated by commas, not by semicolons");
  }
}

RC_GTEST_PROP(Csv, WhatIsWrittenIsRead, ()) {
  const auto text = rc::gen::container<std::string>(
      rc::gen::element('a', 'z', ' ', ',', '"', '\n', '\r', '\t', ';'));
  const auto rows =
      *rc::gen::container<Rows>(rc::gen::container<std::vector<std::string>>(3, text));
  std::string file = "a,b,c\n";
  for (const auto& row : rows)
    for (std::size_t i = 0; i < 3; ++i) file += write_csv_cell(row[i]) + (i < 2 ? "," : "\n");
  const Csv csv = parse_csv(file, "t.csv");
  RC_ASSERT(cells_of(csv) == rows);
  for (const CsvRow& row : csv.rows)
    for (int i = 0; i < 3; ++i) RC_ASSERT(csv.where(row, i).line >= row.line);
}

TEST(Csv, IsFast) {
  std::string text = "a,b,c,d,e,f,g,h\n";
  while (text.size() < (std::size_t{4} << 20))
    text += "1,22,\"x, y\",4096,,hello,1.5e3,A100-80GB\n";
  const auto begin = std::chrono::steady_clock::now();
  const Csv csv = parse_csv(text, "t.csv");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(csv.rows.size(), 100000u);
  EXPECT_LT(seconds.count(), 2.0);  // takes 0.05 s; quadratic work would take minutes
}

TEST(Csv, ReadsAFileAndNamesTheNearestWhereItIsMissing) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_csv(folder.write("runs.csv", "a\n1\n")).rows.size(), 1u);
  try {
    read_csv(folder / "run.csv");
    FAIL() << "nothing thrown";
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list()[0].code, "spec.no-file");
    EXPECT_NE(errors.list()[0].hint.find("runs.csv"), std::string::npos);
  }
}

}  // namespace
}  // namespace nereus::spec::csv_test
