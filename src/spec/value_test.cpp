// Files, places in a text, and --set.
#include "spec/value.hpp"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <filesystem>

#include "base/temporary_folder.hpp"

namespace nereus::spec::value_test {
namespace {

namespace fs = std::filesystem;

template <class Function>
Error error_of(Function function) {
  try {
    function();
  } catch (const Errors& errors) {
    return errors.list().at(0);
  }
  return {};
}

class Files : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view text) {
    return folder_.write(name, text);
  }
  TemporaryFolder folder_;
};

TEST_F(Files, AreParsedByExtension) {
  EXPECT_EQ(to_json(parse_file(write("a.toml", "x = 1"))), R"({"x":1})");
  EXPECT_EQ(to_json(parse_file(write("a.yaml", "x: 1"))), R"({"x":1})");
  EXPECT_EQ(to_json(parse_file(write("a.YML", "x: 1"))), R"({"x":1})");
  EXPECT_EQ(to_json(parse_file(write("a.json", "{\"x\":1}"))), R"({"x":1})");
  EXPECT_EQ(error_of([&] { parse_file(write("a.txt", "x")); }).code, "spec.unknown-format");
}

TEST_F(Files, SayWhatIsWrong) {
  write("cluster.toml", "");
  const Error missing = error_of([&] { parse_file(folder_ / "clutser.toml"); });
  EXPECT_EQ(missing.code, "spec.no-file");
  EXPECT_EQ(missing.hint, "did you mean \"" + folder_ / "cluster.toml" + "\"?");
  const Error folder = error_of([&] { parse_file(folder_ / "none/a.toml"); });
  EXPECT_EQ(folder.hint, "there is no directory \"" + folder_ / "none" + "\"");
  fs::create_directory(folder_ / "d.toml");
  EXPECT_EQ(error_of([&] { parse_file(folder_ / "d.toml"); }).code, "spec.is-directory");
  EXPECT_EQ(error_of([&] { parse_file(""); }).code, "spec.no-file");
  EXPECT_EQ(error_of([&] { parse_file("/dev/zero"); }).code, "spec.unreadable");
  const Error binary =
      error_of([&] { parse_file(write("b.json", std::string_view("{}\n\0", 4))); });
  EXPECT_EQ(binary.code, "spec.unreadable");
  EXPECT_EQ(binary.where.line, 2);
}

TEST_F(Files, SayWhenReadingIsForbidden) {
  const std::string path = write("secret.toml", "x = 1");
  fs::permissions(path, fs::perms::none);
  // Root may read everything; files are opened as somebody else then.
  if (::geteuid() == 0) {
    fs::permissions(folder_.path(), fs::perms::others_exec, fs::perm_options::add);
    ::setfsuid(65534);
  }
  const Error error = error_of([&] { parse_file(path); });
  ::setfsuid(::geteuid());
  EXPECT_EQ(error.code, "spec.unreadable");
}

TEST(Source, AcceptsUtf8AndNothingElse) {
  const auto code_of = [](std::string_view text) {
    return error_of([&] { make_source(text, "t"); }).code;
  };
  for (const char* good : {"", "a\t\r\n", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(code_of(good), "") << good;
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2x", "\xE0\x9F\xBF", "\xED\xA0\x80",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\x01", "\xFF\xFE"})
    EXPECT_EQ(code_of(bad), "spec.unreadable") << bad;
}

TEST(Source, CutsTheLineAroundTheColumn) {
  const SourcePtr source =
      make_source("first\r\n" + std::string(500, 'a') + "X" + std::string(500, 'b'), "t");
  EXPECT_EQ(where_in(*source, 1, 2), (Where{"t", 1, 2, "first"}));
  const Where cut = where_in(*source, 2, 501);
  EXPECT_EQ(cut.line_text.size(), 160u);
  EXPECT_EQ(cut.line_text.at(static_cast<std::size_t>(cut.column - cut.text_column)), 'X');
  EXPECT_EQ(where_in(*source, 9, 1), (Where{"t", 9, 1, ""}));
  EXPECT_EQ(where_in(*source, 0, 0), (Where{"t", 0, 0, ""}));
}

std::string set(std::string json, std::string_view path, std::string_view text) {
  Value value = parse_json(json, "t.json");
  set_path(value, path, text);
  return to_json(value);
}

TEST(SetPath, ReplacesAndAdds) {
  EXPECT_EQ(set(R"({"layers":1})", "layers", "4"), R"({"layers":4})");
  EXPECT_EQ(set(R"({"a":{"b":1}})", "a.b", "2.5"), R"({"a":{"b":2.5}})");
  EXPECT_EQ(set(R"({"n":[{"c":1},{"c":2}]})", "n.1.c", "9"), R"({"n":[{"c":1},{"c":9}]})");
  EXPECT_EQ(set("{}", "a.b.c", "true"), R"({"a":{"b":{"c":true}}})");
  EXPECT_EQ(set("{}", "a.\"p4d.24xlarge\".count", "1"), R"({"a":{"p4d.24xlarge":{"count":1}}})");
  EXPECT_EQ(set(R"({"a":null})", "a.b", "1"), R"({"a":{"b":1}})");
}

TEST(SetPath, ReadsTomlValuesElseStrings) {
  EXPECT_EQ(set("{}", "a", "80 GiB"), R"({"a":"80 GiB"})");
  EXPECT_EQ(set("{}", "a", "\"4\""), R"({"a":"4"})");
  EXPECT_EQ(set("{}", "a", "[1, 2]"), R"({"a":[1,2]})");
  EXPECT_EQ(set("{}", "a", "{x = 1}"), R"({"a":{"x":1}})");
  EXPECT_EQ(set("{}", "a", "llama3-8b"), R"({"a":"llama3-8b"})");
  EXPECT_EQ(set("{}", "a", ""), R"({"a":""})");
  EXPECT_EQ(set("{}", "a", "1\nb = 2"), R"({"a":"1\u000ab = 2"})");
}

TEST(SetPath, RefusesWhatHasNoPlace) {
  const auto refused = [](const std::string& json, std::string_view path) {
    return error_of([&] { set(json, path, "1"); });
  };
  EXPECT_EQ(refused("{}", "").code, "spec.set-path");
  EXPECT_EQ(refused("{}", "a..b").code, "spec.set-path");
  EXPECT_EQ(refused("{}", "\"a").code, "spec.set-path");
  EXPECT_EQ(refused(R"({"a":[1]})", "a.1").hint, "0 to 0");
  EXPECT_EQ(refused(R"({"a":[1]})", "a.x").code, "spec.set-path");
  EXPECT_EQ(refused(R"({"a":1})", "a.b").message,
            "\"b\" is set below an integer, not below a table");
}

TEST(SetPath, PointsAtTheAssignment) {
  Value value = parse_json("{}", "t.json");
  set_path(value, "layers", "four");
  EXPECT_EQ(value.find("layers")->where(), (Where{"--set", 1, 8, "layers=four"}));
}

}  // namespace
}  // namespace nereus::spec::value_test
