#include "spec/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace nereus::spec::reader_test {
namespace {

using ::testing::ElementsAre;

enum class Link { kNvlink, kPcie };
const Choices<Link> kLinks = {{"nvlink", Link::kNvlink}, {"pcie", Link::kPcie}};

// Reads a TOML text and keeps what is wrong with it.
struct Fixture {
  explicit Fixture(std::string_view text, Units units = Units::kWritten)
      : value(parse_toml(text, "t.toml")), r(value, errors, units) {}
  std::vector<std::string> codes() const {
    std::vector<std::string> list;
    for (const Error& error : errors.list()) list.push_back(error.code);
    return list;
  }
  const Error& error(std::size_t i = 0) const { return errors.list().at(i); }

  Value value;
  ErrorList errors;
  Reader r;
};

TEST(Reader, ReadsEveryKind) {
  Fixture f(R"(
layers = 24
whole = 4.0
big = 1000000000000
rate = 3
name = "a100"
fused = true
kind = "pcie"
memory = "80 GiB"
link = "200 Gbit/s"
ints = [1, 2]
doubles = [0.5, 1]
strings = ["a", "b"]
[inner]
x = 1
[[nodes]]
n = 1
[[nodes]]
n = 2
)");
  EXPECT_EQ(f.r.required_int("layers", 1), 24);
  EXPECT_EQ(f.r.required_int("whole", 1), 4);
  EXPECT_EQ(f.r.required_int64("big", 1), 1000000000000);
  EXPECT_EQ(f.r.required_double("rate"), 3.0);
  EXPECT_EQ(f.r.required_string("name"), "a100");
  EXPECT_TRUE(f.r.required_bool("fused"));
  EXPECT_EQ(f.r.required_enum<Link>("kind", kLinks), Link::kPcie);
  EXPECT_EQ(f.r.required<Bytes>("memory"), Bytes{80 * kGiB});
  EXPECT_EQ(f.r.required<BytesPerSecond>("link"), BytesPerSecond{25e9});
  EXPECT_THAT(f.r.required_ints("ints", 0), ElementsAre(1, 2));
  EXPECT_THAT(f.r.required_doubles("doubles"), ElementsAre(0.5, 1.0));
  EXPECT_THAT(f.r.required_strings("strings"), ElementsAre("a", "b"));
  Reader inner = f.r.required_table("inner");
  EXPECT_EQ(inner.required_int("x", 0), 1);
  inner.finish();
  int sum = 0;
  for (Reader& node : f.r.required_tables("nodes")) {
    sum += node.required_int("n", 0);
    node.finish();
  }
  EXPECT_EQ(sum, 3);
  f.r.finish();
  EXPECT_THAT(f.codes(), ElementsAre());
}

TEST(Reader, GivesTheFallbackForWhatIsAbsentOrNull) {
  const Value value = parse_json(R"({"heads": null})", "t.json");
  ErrorList errors;
  Reader r(value, errors);
  EXPECT_EQ(r.optional_int("heads", 7, 1), 7);
  EXPECT_EQ(r.optional_int("layers", 0, 1), 0);  // the fallback may lie outside of the range
  EXPECT_EQ(r.optional_double("x", 0.5), 0.5);
  EXPECT_EQ(r.optional_string("s", "d"), "d");
  EXPECT_TRUE(r.optional_bool("b", true));
  EXPECT_EQ(r.optional_enum<Link>("k", Link::kPcie, kLinks), Link::kPcie);
  EXPECT_EQ(r.optional<Seconds>("t", Seconds{2}), Seconds{2});
  EXPECT_TRUE(r.optional_tables("nodes").empty());
  EXPECT_TRUE(r.optional_ints("i", 0).empty());
  Reader none = r.optional_table("none");
  EXPECT_FALSE(none.present());
  EXPECT_EQ(none.required_int("n", 1), 1);  // silent
  none.finish();
  r.finish();
  EXPECT_TRUE(errors.empty());
}

TEST(Reader, ReportsAllThatIsMissing) {
  Fixture f("[inner]\n");
  f.r.required_int("layers", 1);
  f.r.required_table("outer").required_int("x", 1);  // one error, not two
  f.r.required_tables("nodes");
  f.r.required_strings("names");
  f.r.required<Bytes>("memory");
  Reader inner = f.r.required_table("inner");
  inner.required_string("name");
  ASSERT_THAT(f.codes(), ::testing::Each("spec.missing-key"));
  ASSERT_EQ(f.errors.list().size(), 6u);
  EXPECT_EQ(f.error(0).message, "the key \"layers\" is missing");
  EXPECT_EQ(f.error(5).message, "the key \"name\" is missing in \"inner\"");
  EXPECT_EQ(f.error(5).where.line, 1);
}

TEST(Reader, NamesTheNearestKnownKey) {
  Fixture f("layrs = 4\nheads = 2\nzebra = 1\n");
  f.r.required_int("heads", 1);
  f.r.optional_int("layers", 1, 1);
  f.r.optional_int("kv_heads", 1, 1);
  f.r.finish();
  ASSERT_THAT(f.codes(), ElementsAre("spec.unknown-key", "spec.unknown-key"));
  EXPECT_EQ(f.error(0).hint, "did you mean \"layers\"?");
  EXPECT_EQ(f.error(0).where, (Where{"t.toml", 1, 1, "layrs = 4"}));
  EXPECT_EQ(f.error(1).hint, "known: heads, kv_heads, layers");
}

TEST(Reader, PointsAtAnUnknownYamlTable) {
  const Value value = parse_yaml("a: 1\nnods:\n  - n: 1\n", "t.yaml");
  ErrorList errors;
  Reader r(value, errors);
  r.required_int("a", 1);
  r.optional_tables("nodes");
  r.finish();
  EXPECT_EQ(errors.list().at(0).where, (Where{"t.yaml", 2, 1, "nods:"}));
}

TEST(Reader, SkipsWhatIsOfNoInterest) {
  Fixture f("a = 1\nb = 2\nc = 3\n");
  f.r.skip("a");
  EXPECT_THAT(f.r.keys(), ElementsAre("a", "b", "c"));
  f.r.skip_rest();
  f.r.finish();
  EXPECT_TRUE(f.errors.empty());
}

TEST(Reader, RefusesWrongKinds) {
  Fixture f("a = 'x'\nb = 1.5\nc = 1\nd = [1]\ne = {x = 1}\nf = ''\nnan = nan\ninf = inf\n");
  EXPECT_EQ(f.r.required_int("a", 3), 3);
  f.r.required_int("b", 1);
  f.r.required_string("c");
  f.r.required_bool("c");
  f.r.required_table("d");
  f.r.required_tables("d");
  f.r.required_ints("e", 1);
  f.r.required_string("f");
  f.r.required_double("nan");
  f.r.required_double("inf");
  f.r.required_int("nan", 1);
  f.r.required<Bytes>("d");
  ASSERT_THAT(f.codes(), ::testing::Each("spec.type"));
  EXPECT_EQ(f.errors.list().size(), 12u);
  EXPECT_EQ(f.error(0).message, "\"a\" must be a whole number, is \"x\"");
  EXPECT_EQ(f.error(0).where, (Where{"t.toml", 1, 5, "a = 'x'"}));
  EXPECT_EQ(f.error(4).message, "\"d\" must be a table, is an array");
  EXPECT_EQ(f.error(5).message, "\"d[0]\" must be a table, is 1");
}

TEST(Reader, RefusesWhatIsOutOfRange) {
  Fixture f("a = 0\nb = 5000000000\nc = 1e30\nd = 1.5\ne = -1e30\nf = [1, 9]\ng = []\n");
  EXPECT_EQ(f.r.required_int("a", 1, 100), 1);
  f.r.required_int("b", 1);
  f.r.required_int("c", 1, 8);
  f.r.required_double("d", 0, 1);
  f.r.required_int64("e", 0);
  f.r.required_ints("f", 1, 8);
  f.r.required_tables("g");
  ASSERT_THAT(f.codes(), ::testing::Each("spec.range"));
  ASSERT_EQ(f.errors.list().size(), 7u);
  EXPECT_EQ(f.error(0).message, "\"a\" must be at least 1, is 0");
  EXPECT_EQ(f.error(1).message, "\"b\" must be at most 2147483647, is 5000000000");
  EXPECT_EQ(f.error(2).message, "\"c\" must be at most 8, is 1e+30");
  EXPECT_EQ(f.error(3).message, "\"d\" must be at most 1, is 1.5");
}

TEST(Reader, RefusesQuantitiesWithoutUnitOrSense) {
  Fixture f("a = 80\nb = '80'\nc = '80 GBit'\nd = '0 GB'\ne = '-1 GB'\nf = true\n");
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) f.r.required<Bytes>(key);
  EXPECT_THAT(f.codes(), ElementsAre("spec.missing-unit", "spec.missing-unit", "spec.unknown-unit",
                                     "spec.range", "spec.range", "spec.type"));
  EXPECT_EQ(f.error(0).message, "\"a\" = 80 has no unit");
  EXPECT_THAT(f.error(0).hint, ::testing::HasSubstr("\"80 GiB\""));
  EXPECT_EQ(f.error(3).message, "\"d\" must be more than 0, is \"0 GB\"");
  EXPECT_EQ(f.r.required<Bytes>("d", Zero::kAllowed), Bytes{0});
}

TEST(Reader, TakesRawNumbersFromOurOwnFiles) {
  Fixture f("a = 80\nb = '1 kB'\nc = -1\nd = inf\n[t]\nx = 2.5\n", Units::kRawSi);
  EXPECT_EQ(f.r.required<Bytes>("a"), Bytes{80});
  EXPECT_EQ(f.r.required<Bytes>("b"), Bytes{1000});
  EXPECT_EQ(f.r.required_table("t").required<Seconds>("x"), Seconds{2.5});
  EXPECT_TRUE(f.errors.empty());
  f.r.required<Bytes>("c");
  f.r.required<Bytes>("d");
  EXPECT_THAT(f.codes(), ElementsAre("spec.range", "spec.type"));
}

TEST(Reader, OffersTheNearestChoice) {
  Fixture f("kind = 'nvlnk'\n");
  EXPECT_EQ(f.r.optional_enum<Link>("kind", Link::kPcie, kLinks), Link::kPcie);
  EXPECT_EQ(f.error().code, "spec.choice");
  EXPECT_EQ(f.error().message, "\"kind\" cannot be \"nvlnk\"");
  EXPECT_EQ(f.error().hint, "did you mean \"nvlink\"? known: nvlink, pcie");
}

TEST(Reader, RefusesARootThatIsNoTable) {
  const Value value = parse_json("[1]", "t.json");
  ErrorList errors;
  Reader r(value, errors);
  r.required_int("a", 1);
  r.finish();
  ASSERT_EQ(errors.list().size(), 1u);
  EXPECT_EQ(errors.list()[0].code, "spec.type");
}

TEST(Reader, AddsErrorsOfItsUser) {
  Fixture f("heads = 7\n");
  f.r.fail("heads", "model.heads", "7 heads cannot be split by 2", "6 or 8");
  f.r.fail("absent", "model.absent", "no");
  EXPECT_EQ(f.error(0).where.column, 9);
  EXPECT_EQ(f.error(1).where.line, 1);
}

TEST(Reader, StopsAfterAHundredErrors) {
  std::string text = "{\"a\":[";
  for (int i = 0; i < 100000; ++i) text += "-1,";
  text.back() = ']';
  for (int i = 0; i < 100000; ++i) text += ",\"k" + std::to_string(i) + "\":1";
  const Value value = parse_json(text + "}", "t.json");
  ErrorList errors;
  Reader r(value, errors);
  r.required_ints("a", 0);
  r.finish();
  ASSERT_EQ(errors.list().size(), 101u);
  EXPECT_EQ(errors.list().back().code, "spec.too-many");
}

TEST(Reader, IsFastOnWideTables) {
  std::string text = "{";
  for (int i = 0; i < 50000; ++i) text += "\"k" + std::to_string(i) + "\":1,";
  text.back() = '}';
  const Value value = parse_json(text, "t.json");
  ErrorList errors;
  Reader r(value, errors);
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string_view key : r.keys()) r.required_int(key, 1);
  r.finish();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(errors.empty());
  EXPECT_LT(seconds.count(), 1.0);
}

}  // namespace
}  // namespace nereus::spec::reader_test
