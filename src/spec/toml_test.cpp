#include <gtest/gtest.h>

#include "spec/value.hpp"

namespace nereus::spec::toml_test {
namespace {

Value parse(std::string_view text) { return parse_toml(text, "t.toml"); }

Error error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const Errors& errors) {
    return errors.list().at(0);
  }
  return {};
}

TEST(Toml, ReadsEveryKindOfValueInFileOrder) {
  const Value value = parse(R"(
z = 1
a = 2.5
m = "text"
t = true
day = 2024-05-01
list = [1, [2, 3]]
inline = {y = 1, x = 2}
dotted.b.a = 1
[table]
k = 'literal'
[[nodes]]
n = 1
[[nodes]]
n = 2
)");
  EXPECT_EQ(to_json(value),
            R"({"z":1,"a":2.5,"m":"text","t":true,"day":"2024-05-01","list":[1,[2,3]],)"
            R"("inline":{"y":1,"x":2},"dotted":{"b":{"a":1}},"table":{"k":"literal"},)"
            R"("nodes":[{"n":1},{"n":2}]})");
}

TEST(Toml, KeepsThePlaceOfEveryValue) {
  const Value value = parse("a = 1\n[b]\n\"\xC3\xA4\" = 1\n  c = \"x\"\nd.e = 1\n");
  EXPECT_EQ(value.find("a")->where(), (Where{"t.toml", 1, 5, "a = 1"}));
  EXPECT_EQ(value.find("b")->where().line, 2);
  EXPECT_EQ(value.find("b")->find("\xC3\xA4")->where().column, 7);
  EXPECT_EQ(value.find("b")->find("c")->where(), (Where{"t.toml", 4, 7, "  c = \"x\""}));
  EXPECT_EQ(value.find("b")->find("d")->where().line, 5);
}

TEST(Toml, PointsAtSyntaxErrors) {
  EXPECT_EQ(error_of("a = 1\nb = \n").code, "spec.syntax");
  EXPECT_EQ(error_of("a = 1\nb = \n").where.line, 2);
  EXPECT_EQ(error_of("a = 1\nb = \n").where.line_text, "b = ");
  EXPECT_EQ(error_of("a = 1\na = 2\n").where.line, 2);
  EXPECT_EQ(error_of("a = 99999999999999999999").code, "spec.syntax");
  EXPECT_EQ(error_of("a = \"never closed").code, "spec.syntax");
  EXPECT_EQ(error_of("[a]\n[a]\n").code, "spec.syntax");
  EXPECT_EQ(error_of("\xFF").code, "spec.unreadable");
}

TEST(Toml, AnEmptyFileIsAnEmptyTable) {
  EXPECT_EQ(to_json(parse("")), "{}");
  EXPECT_EQ(to_json(parse("\xEF\xBB\xBF# only a comment")), "{}");
}

std::string repeat(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Toml, LimitsNestingOfValuesAndOfKeys) {
  EXPECT_EQ(error_of("a = " + repeat("[", 60) + repeat("]", 60)).code, "");
  EXPECT_EQ(error_of("a = " + repeat("[", 100000)).code, "spec.syntax");
  EXPECT_EQ(error_of(repeat("a.", 60) + "a = 1").code, "");
  // Without our own check these overflow the stack in toml++.
  EXPECT_EQ(error_of(repeat("a.", 100000) + "a = 1").message, "a key of more than 64 parts");
  EXPECT_EQ(error_of("[" + repeat("a . ", 100000) + "a]").code, "spec.syntax");
  EXPECT_EQ(error_of(repeat("\"=\".", 100000) + "a = 1").code, "spec.syntax");
  EXPECT_EQ(error_of("b = [\"\"\"x\"\"\"\", {" + repeat("a.", 100000) + "a = 1}]").code,
            "spec.syntax");
  EXPECT_EQ(error_of("[" + repeat("a.", 50) + "a]\n" + repeat("b.", 50) + "b = 1").message,
            "nested deeper than 64 levels");
}

TEST(Toml, AllowsLettersBeyondAsciiInStringsAndComments) {
  const Value value = parse(
      "a = \"\u00e9\" # \u00e9\nb = '\u00e9'\nc = \"\"\"\nx\\\n  \u00e9\"\"\"\n\"\u00e9\".d = 1\n");
  EXPECT_EQ(to_json(value),
            "{\"a\":\"\u00e9\",\"b\":\"\u00e9\",\"c\":\"x\u00e9\",\"\u00e9\":{\"d\":1}}");
  EXPECT_EQ(error_of("a = 1\n  \u00e9 = 2\n").where, (Where{"t.toml", 2, 3, "  \u00e9 = 2"}));
  EXPECT_EQ(error_of("a = 4\u00d7").code, "spec.syntax");
  EXPECT_EQ(error_of("a = \"\"\"\\\u00e9\"\"\"").code, "spec.syntax");
}

TEST(Toml, RefusesATableWithoutAName) {
  for (const char* text :
       {"[", "[[", "[[\n", "[[\nf = 1\n", "[]", "[[]]", "[\n", "[=]", "[a", "[[a]"})
    EXPECT_EQ(error_of(text).code, "spec.syntax") << text;
}

TEST(Toml, DoesNotCountDotsThatArePartOfNoKey) {
  EXPECT_EQ(error_of("a = \"" + repeat(".", 1000) + "\"").code, "");
  EXPECT_EQ(error_of("a = [" + repeat("1.5, ", 1000) + "2.5]").code, "");
  EXPECT_EQ(error_of("a = 1 # " + repeat(". ", 1000)).code, "");
  EXPECT_EQ(error_of("a = '''" + repeat("x.\n", 1000) + "'''").code, "");
  EXPECT_EQ(error_of(repeat("# it's a comment. \n", 1000) + "a = 1").code, "");
}

}  // namespace
}  // namespace nereus::spec::toml_test
