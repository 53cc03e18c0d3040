#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "spec/value.hpp"

namespace nereus::spec::json_test {
namespace {

Value parse(std::string_view text) { return parse_json(text, "t.json"); }

Error error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const Errors& errors) {
    return errors.list().at(0);
  }
  return {};
}

TEST(Json, ReadsEveryKindOfValue) {
  const std::string text =
      R"({"a":[1,-2,2.5,1e3],"b":{"c":true,"d":false,"e":null},"f":"x","g":[],"h":{}})";
  const Value value = parse(text);
  EXPECT_EQ(std::get<std::int64_t>(std::get<Array>(value.find("a")->data)[1].data), -2);
  EXPECT_EQ(std::get<double>(std::get<Array>(value.find("a")->data)[3].data), 1000.0);
  EXPECT_TRUE(std::get<bool>(value.find("b")->find("c")->data));
  EXPECT_TRUE(value.find("b")->find("e")->is_null());
  EXPECT_EQ(std::get<std::string>(value.find("f")->data), "x");
  EXPECT_EQ(value.find("nothing"), nullptr);
  EXPECT_EQ(value.find("f")->find("x"), nullptr);
}

TEST(Json, DecodesEscapes) {
  const Value value = parse(R"("\"\\\/\b\f\n\r\t\u00e4\u20ac\ud83d\ude00")");
  EXPECT_EQ(std::get<std::string>(value.data),
            "\"\\/\b\f\n\r\t\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST(Json, KeepsThePlaceOfEveryValue) {
  const Value value = parse("{\n  \"\xC3\xA4\": [1,\n    \"two\"], \"b\": 3}");
  const auto& array = std::get<Array>(value.find("\xC3\xA4")->data);
  EXPECT_EQ(array[0].where(), (Where{"t.json", 2, 9, "  \"\xC3\xA4\": [1,"}));
  EXPECT_EQ(array[1].where(), (Where{"t.json", 3, 5, "    \"two\"], \"b\": 3}"}));
  EXPECT_EQ(value.find("b")->where().column, 18);
}

TEST(Json, TakesIntegersBeyond64BitsAsNumbers) {
  EXPECT_EQ(std::get<std::int64_t>(parse("9223372036854775807").data), INT64_MAX);
  EXPECT_EQ(std::get<std::int64_t>(parse("-9223372036854775808").data), INT64_MIN);
  EXPECT_EQ(std::get<double>(parse("9223372036854775808").data), 9223372036854775808.0);
  EXPECT_EQ(std::get<double>(parse("1e-999").data), 0.0);
}

TEST(Json, PointsAtSyntaxErrors) {
  struct Case {
    const char* text;
    int line, column;
  };
  const Case cases[] = {
      {"", 1, 1},
      {"  ", 1, 3},
      {"{", 1, 2},
      {"[1,]", 1, 4},
      {"{\"a\":1,}", 1, 8},
      {"[1 2]", 1, 4},
      {"{\"a\" 1}", 1, 6},
      {"{a:1}", 1, 2},
      {"01", 1, 2},
      {"1.", 1, 3},
      {"1e", 1, 3},
      {"-", 1, 1},
      {"+1", 1, 1},
      {"nul", 1, 1},
      {"nulll", 1, 1},
      {"1 1", 1, 3},
      {"\"a", 1, 1},
      {"[\"a\nb\"]", 1, 2},
      {"\"\\x\"", 1, 3},
      {"\"\\u12\"", 1, 3},
      {"[\n1,\n?]", 3, 1},
      {"\"\\ud800\"", 1, 7},
      {"1e999", 1, 1},
      {"\"\\", 1, 1},
      {"NaN", 1, 1},
      {"'a'", 1, 1},
      {"//", 1, 1},
      {"\"\t\"", 1, 2},
      {"{\"a\":1,\n\"b\":2,\"a\":3}", 2, 7},
  };
  for (const Case& c : cases) {
    const Error error = error_of(c.text);
    EXPECT_EQ(error.code, "spec.syntax") << c.text;
    EXPECT_EQ(error.where.line, c.line) << c.text << ": " << error.message;
    EXPECT_EQ(error.where.column, c.column) << c.text << ": " << error.message;
  }
  EXPECT_EQ(error_of("NaN").hint, "JSON has no NaN and no infinity");
  EXPECT_EQ(error_of("{\"a\":1").hint, "is the file complete?");
  EXPECT_EQ(error_of("\"\xFF\"").code, "spec.unreadable");
}

TEST(Json, FindsADoubledKeyInALargeTable) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_EQ(error_of(text + "\"z\":1}").code, "");
  EXPECT_EQ(error_of(text + "\"k77\":1}").message, "the key \"k77\" is given twice");
}

TEST(Json, LimitsNesting) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') + "1" +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_EQ(error_of(nested(kMostNesting)).code, "");
  EXPECT_EQ(error_of(nested(kMostNesting + 1)).message, "nested deeper than 64 levels");
  EXPECT_EQ(error_of(std::string(1000000, '[')).code, "spec.syntax");
}

TEST(Json, ShowsOnlyAPartOfALongLine) {
  const Error error = error_of("[" + std::string(100000, ' ') + "?]");
  EXPECT_EQ(error.where.column, 100002);
  EXPECT_LE(error.where.line_text.size(), 160u);
  EXPECT_EQ(error.where.line_text.at(
                static_cast<std::size_t>(error.where.column - error.where.text_column)),
            '?');
}

RC_GTEST_PROP(Json, AgreesWithAnotherReaderOnAnyText, ()) {
  // Pieces of JSON in any order: mostly broken, sometimes not.
  const auto piece = rc::gen::element<std::string>("{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"",
                                                   "1", "-0", "2.5", "1e3", "true", "null", " ",
                                                   "\n", "\"\\u00e4\"", "[]", "\"a\":1");
  const auto pieces = *rc::gen::container<std::vector<std::string>>(piece);
  std::string text;
  for (const auto& p : pieces) text += p;
  const auto other = nlohmann::ordered_json::parse(text, nullptr, false);
  const Error error = error_of(text);
  if (error.message.find("given twice") != std::string::npos) return;  // the other takes the last
  RC_ASSERT(error.code.empty() == !other.is_discarded());
  if (error.code.empty()) RC_ASSERT(nlohmann::ordered_json::parse(to_json(parse(text))) == other);
}

RC_GTEST_PROP(Json, NumbersAndStringsComeBackTheSame, (double number, const std::string& ascii)) {
  std::string text;
  for (const char c : ascii)
    if (static_cast<unsigned char>(c) < 0x80) text += c;
  Value value;
  value.data = Array(2);
  std::get<Array>(value.data)[0].data = number;
  std::get<Array>(value.data)[1].data = text;
  const Value back = parse(to_json(value));
  RC_ASSERT((back == value));
}

TEST(Json, ReadsAMegabyteInMilliseconds) {
  std::string plan = "{\"runs\":[";
  std::string numbers = "[";
  for (int i = 0; plan.size() < (1u << 20); ++i)
    plan += "{\"first_layer\":" + std::to_string(i) +
            ",\"replicas\":[{\"first\":0,\"count\":16384,\"stride\":8,\"samples\":1.5}],"
            "\"recompute\":\"full\",\"state\":[[0,65536,3],[1,65536,4]]},";
  while (numbers.size() < (1u << 20)) numbers += "0,";
  for (std::string* text : {&plan, &numbers}) {
    text->back() = ']';
    if (text == &plan) *text += '}';
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const std::clock_t begin = std::clock();
      const Value value = parse(*text);
      best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    RecordProperty(text == &plan ? "plan_ms" : "numbers_ms", std::to_string(best * 1e3));
    EXPECT_LT(best, 0.5) << "of processor time: a sanitizer costs ten times; this is a hundred";
  }
}

}  // namespace
}  // namespace nereus::spec::json_test
