#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "spec/value.hpp"

namespace nereus::spec::yaml_test {
namespace {

Value parse(std::string_view text) { return parse_yaml(text, "t.yaml"); }

Error error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const Errors& errors) {
    return errors.list().at(0);
  }
  return {};
}

TEST(Yaml, ReadsEveryKindOfValueInFileOrder) {
  const Value value = parse(R"(
z: 1
a: [1, -2, +3, 0x1f, 0o17]
f: [2.5, 1e3, .5, -1.]
t: [true, False]
n: [null, ~, ]
s: [word, "1", '2', yes, 1.2.3, 80 GiB, 0x, "", -, 1e, nan, 2024-05-01]
nested:
  list:
    - k: 1
      l: 2
    - text
  block: |
    two
    lines
tagged: !!str 5
5: five
)");
  EXPECT_EQ(
      to_json(value),
      R"({"z":1,"a":[1,-2,3,31,15],"f":[2.5,1000.0,0.5,-1.0],"t":[true,false],"n":[null,null],)"
      R"("s":["word","1","2","yes","1.2.3","80 GiB","0x","","-","1e","nan","2024-05-01"],)"
      R"("nested":{"list":[{"k":1,"l":2},"text"],"block":"two\u000alines\u000a"},)"
      R"("tagged":"5","5":"five"})");
  EXPECT_TRUE(std::isinf(std::get<double>(parse("a: -.inf").find("a")->data)));
  EXPECT_EQ(std::get<double>(parse("a: 99999999999999999999").find("a")->data), 1e20);
}

TEST(Yaml, KeepsThePlaceOfEveryValue) {
  const Value value = parse("a: 1\nb:\n  \xC3\xA4: [x, yy]\n");
  EXPECT_EQ(value.find("a")->where(), (Where{"t.yaml", 1, 4, "a: 1"}));
  const Value& list = *value.find("b")->find("\xC3\xA4");
  EXPECT_EQ(std::get<Array>(list.data)[1].where(), (Where{"t.yaml", 3, 10, "  \xC3\xA4: [x, yy]"}));
}

TEST(Yaml, ReadsABlockAtTheEndOfTheFile) {
  EXPECT_EQ(to_json(parse("a: |\n  x\n")), R"({"a":"x\u000a"})");
  EXPECT_EQ(to_json(parse("a: |+\n  x\n\n")), R"({"a":"x\u000a\u000a"})");
  EXPECT_EQ(to_json(parse("a: >-\n  x\n  y")), R"({"a":"x y"})");
  EXPECT_EQ(to_json(parse("a: x\n...\n")), R"({"a":"x"})");
}

TEST(Yaml, AliasesAreCopies) {
  EXPECT_EQ(to_json(parse("a: &x {k: 1}\nb: *x\nc: [*x, *x]\n")),
            R"({"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":1}]})");
  EXPECT_EQ(to_json(parse("&k a: 1\nb: *k\n")), R"({"a":1,"b":"a"})");
}

TEST(Yaml, StopsAnAliasBomb) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += before + (j < 9 ? ", " : "]\n");
  }
  EXPECT_EQ(error_of(text).message, "aliases stand for more than 100000 values");
  EXPECT_EQ(error_of("a: &a [*a]").code, "spec.syntax");
  EXPECT_EQ(error_of("a: *nothing").code, "spec.syntax");
}

TEST(Yaml, LimitsNestingAlsoThroughAliases) {
  EXPECT_EQ(error_of(std::string(60, '[') + std::string(60, ']')).code, "");
  EXPECT_EQ(error_of(std::string(65, '[') + std::string(65, ']')).message,
            "nested deeper than 64 levels");
  EXPECT_EQ(error_of(std::string(100000, '[')).code, "spec.syntax");
  EXPECT_EQ(error_of(std::string(100000, '{')).code, "spec.syntax");
  const std::string half = std::string(40, '[') + std::string(40, ']');
  const std::string twice = std::string(40, '[') + "*a" + std::string(40, ']');
  EXPECT_EQ(error_of("a: &a " + half + "\nb: " + twice).message, "nested deeper than 64 levels");
  std::string indented;
  for (int i = 0; i < 2000; ++i) indented += "- ";
  EXPECT_EQ(error_of(indented).code, "spec.syntax");
}

TEST(Yaml, PointsAtSyntaxErrors) {
  EXPECT_EQ(error_of("a: 1\nb: [1,\n").code, "spec.syntax");
  EXPECT_EQ(error_of("a: 1\na: 2\n").where, (Where{"t.yaml", 2, 1, "a: 2"}));
  EXPECT_EQ(error_of("a: 1\n\tb: 2\n").where.line, 2);
  EXPECT_EQ(error_of("? [1, 2]\n: 3\n").message, "a key must be a plain word or a string");
  EXPECT_EQ(error_of("a: !odd 1\n").message, "the tag !odd is not known");
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n").message, "more than one YAML document");
  for (const char* open : {"a: \"x", "a: \"x\n", "a: 'x\n\n", "a: \"x\nb: 1\n", "a: [1,\n"})
    EXPECT_EQ(error_of(open).code, "spec.syntax") << open;
  EXPECT_EQ(error_of("a: \x04\n").code, "spec.unreadable");
}

TEST(Yaml, AnEmptyFileIsAnEmptyTable) {
  EXPECT_EQ(to_json(parse("")), "{}");
  EXPECT_EQ(to_json(parse("# only a comment\n")), "{}");
  EXPECT_EQ(to_json(parse("---\n...\n")), "{}");
}

}  // namespace
}  // namespace nereus::spec::yaml_test
