#include "cli/text/output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace nereus::cli::output_test {
namespace {

using api::cell_text;
using api::display_width;
using ::testing::HasSubstr;

Report sample() {
  Table table{.name = "parts",
              .title = "Where the time goes",
              .columns = {{"part", "part"},
                          {"seconds", "time", Unit::kSeconds},
                          {"share", "share", Unit::kShare, true},
                          {"remark", "remark", Unit::kNone, false, true, 1}}};
  table.rows = {{"compute", 1.5, 0.75, "kernels and what they wait for in memory"},
                {"data|comm", 0.5, 0.25, "all-reduce, \"overlapped\""},
                {"bubble", {}, 0.0, {}}};
  return {{table}};
}

int widest_line(const std::string& text) {
  int widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(Output, TextFitsAnyWidth) {
  for (int width : {200, 80, 60, 50}) {
    EXPECT_LE(widest_line(render_text(sample(), {.width = width, .utf8 = true})), width);
    EXPECT_LE(widest_line(render_text(sample(), {.width = width})), width);
  }
}

TEST(Output, TextHidesColumnsByRankAndSaysSo) {
  const std::string text = render_text(sample(), {.width = 45});
  EXPECT_THAT(text, HasSubstr("omitted for width: remark"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("kernels")));
}

TEST(Output, TextWrapsRatherThanLosesWords) {
  const std::string text = render_text(sample(), {.width = 80});
  for (const char* word : {"kernels", "memory", "overlapped"}) EXPECT_THAT(text, HasSubstr(word));
}

TEST(Output, JsonHoldsRawNumbersAndNull) {
  const auto json = nlohmann::json::parse(api::render_json(sample()));
  EXPECT_EQ(json["parts"][0]["seconds"], 1.5);
  EXPECT_EQ(json["parts"][1]["share"], 0.25);
  EXPECT_TRUE(json["parts"][2]["seconds"].is_null());
  EXPECT_EQ(json["parts"].size(), 3);
}

TEST(Output, JsonSurvivesWhatItCannotSay) {
  Table table{.name = "x", .columns = {{"a", "a"}, {"b", "b"}}};
  table.rows = {{std::nan(""), std::numeric_limits<double>::infinity()}, {"\xff\xfe", 1e300}};
  const auto json = nlohmann::json::parse(api::render_json({{table}}));
  EXPECT_TRUE(json["x"][0]["a"].is_null());
  EXPECT_TRUE(json["x"][0]["b"].is_null());
  EXPECT_EQ(json["x"][1]["b"], 1e300);
}

TEST(Output, RecordIsAnObjectAtTheTop) {
  Table record{.columns = {{"fits", "fits"}, {"step_s", "step", Unit::kSeconds}},
               .rows = {{false, 2.0}},
               .record = true};
  EXPECT_EQ(nlohmann::json::parse(api::render_json({{record}})),
            nlohmann::json::parse(R"({"fits": false, "step_s": 2})"));
  EXPECT_EQ(render_text({{record}}, {}), "fits  no\nstep  2.00 s\n");
  EXPECT_EQ(render_csv({{record}}), "fits,step_s\nfalse,2\n");
}

TEST(Output, CsvQuotesByRfc4180) {
  EXPECT_EQ(render_csv(sample()),
            "part,seconds,share,remark\n"
            "compute,1.5,0.75,kernels and what they wait for in memory\n"
            "data|comm,0.5,0.25,\"all-reduce, \"\"overlapped\"\"\"\n"
            "bubble,,0,\n");
}

TEST(Output, MarkdownEscapesBars) {
  const std::string text = render_markdown(sample());
  EXPECT_THAT(text, HasSubstr("**Where the time goes**"));
  EXPECT_THAT(text, HasSubstr("| --- | ---: | ---: | --- |"));
  EXPECT_THAT(text, HasSubstr("| data\\|comm | 500 ms | 25.0 % |"));
}

TEST(Output, ControlCharactersDoNotReachTheTerminal) {
  EXPECT_EQ(cell_text("a\033[31m\nb", {}), "a [31m b");
}

TEST(Output, ColourOnlyWhereAsked) {
  EXPECT_THAT(render_text(sample(), {.color = true}), HasSubstr("\033[1m"));
  EXPECT_THAT(render_text(sample(), {}), ::testing::Not(HasSubstr("\033")));
}

TEST(Human, GivesEveryUnitItsWords) {
  EXPECT_EQ(human(1.23456, Unit::kSeconds), "1.23 s");
  EXPECT_EQ(human(80 * 0x1p30, Unit::kBytes), "80.0 GiB");
  EXPECT_EQ(human(3.35e12, Unit::kBytesPerSecond), "3.35 TB/s");
  EXPECT_EQ(human(989.4e12, Unit::kFlopsPerSecond), "989 TFLOP/s");
  EXPECT_EQ(human(700, Unit::kWatts), "700 W");
  EXPECT_EQ(human(70.55e9, Unit::kParameters), "70.6 B");
  EXPECT_EQ(human(999.96e6, Unit::kParameters), "1.00 B");
  EXPECT_EQ(human(12, Unit::kParameters), "12.0");
  EXPECT_EQ(human(16384, Unit::kCount), "16,384");
  EXPECT_EQ(human(0.1234, Unit::kShare), "12.3 %");
  EXPECT_EQ(human(98.32, Unit::kUsdPerHour), "$98.32/h");
  EXPECT_EQ(human(0.25, Unit::kNone), "0.25");
  EXPECT_EQ(human(std::nan(""), Unit::kSeconds), "-");
}

}  // namespace
}  // namespace nereus::cli::output_test
