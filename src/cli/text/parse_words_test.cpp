#include "cli/text/parse_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::cli::parse_words_test {
namespace {

using api::Command;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Fixture : ::testing::Test {
  Fixture() : command("try", "for tests") {
    command.whole("--tp", tp, 1, "tensor degree");
    command.number("--rate", rate, "a number");
    command.flag("--fast", fast, "quick");
    command.toggle("--sequence-parallel", sequence_parallel, "on or off");
    command.text("-o,--output", "FILE", file, "where to");
    command.texts("--set", "PATH=VALUE", sets, "override");
    command.choice("--recompute",
                   {{"none", [this] { recompute = 0; }}, {"full", [this] { recompute = 1; }}},
                   "what");
    command.argument("KIND", kind, "what to list", {"models", "nodes"});
    command.optional_argument("FILTER", filter, "only these");
  }

  // Codes of everything that is wrong with the words.
  std::vector<std::string> codes(const std::vector<std::string>& words) {
    std::vector<std::string> result;
    try {
      parse_words(command, words);
    } catch (const Errors& errors) {
      for (const Error& error : errors.list()) result.push_back(error.code);
      text = errors.what();
    }
    return result;
  }

  Command command;
  std::optional<int> tp;
  std::optional<double> rate;
  std::optional<bool> sequence_parallel;
  bool fast = false;
  int recompute = -1;
  std::string file, kind, filter, text;
  std::vector<std::string> sets;
};

TEST_F(Fixture, FillsEveryKindOfTarget) {
  parse_words(command,
              {"models", "--tp", "8", "llama", "--rate=-0.5", "--fast", "-o", "x.json", "--set",
               "a.b=1", "--set", "c=d e", "--recompute", "full", "--sequence-parallel=off"});
  EXPECT_EQ(tp, 8);
  EXPECT_EQ(rate, -0.5);
  EXPECT_TRUE(fast);
  EXPECT_EQ(sequence_parallel, false);
  EXPECT_EQ(file, "x.json");
  EXPECT_EQ(kind, "models");
  EXPECT_EQ(filter, "llama");
  EXPECT_EQ(recompute, 1);
  EXPECT_THAT(sets, ElementsAre("a.b=1", "c=d e"));
}

TEST_F(Fixture, LeavesOutWhatIsNotGiven) {
  parse_words(command, {"nodes"});
  EXPECT_FALSE(tp.has_value());
  EXPECT_FALSE(sequence_parallel.has_value());
  EXPECT_TRUE(sets.empty());
  EXPECT_EQ(recompute, -1);
}

TEST_F(Fixture, BareToggleIsOn) {
  parse_words(command, {"nodes", "--sequence-parallel"});
  EXPECT_EQ(sequence_parallel, true);
}

TEST_F(Fixture, NegativeNumbersAreValues) {
  parse_words(command, {"nodes", "--rate", "-3"});
  EXPECT_EQ(rate, -3);
}

TEST_F(Fixture, NamesEveryUnknownOptionWithTheNearest) {
  EXPECT_THAT(codes({"models", "--tpp", "8", "--recomptue", "full", "-z"}),
              ElementsAre("cli.unknown-option", "cli.unknown-option", "cli.unknown-option"));
  EXPECT_THAT(text, HasSubstr("did you mean --tp?"));
  EXPECT_THAT(text, HasSubstr("did you mean --recompute?"));
}

TEST_F(Fixture, NamesEveryBadValue) {
  EXPECT_THAT(codes({"modles", "--tp", "0", "--rate", "1x", "--recompute", "ful"}),
              ElementsAre("cli.bad-value", "cli.bad-value", "cli.bad-value", "cli.bad-value"));
  EXPECT_THAT(text, HasSubstr("--tp takes a whole number of at least 1, not '0'"));
  EXPECT_THAT(text, HasSubstr("did you mean full?"));
  EXPECT_THAT(text, HasSubstr("did you mean models?"));
}

TEST_F(Fixture, NamesTheLimitOfANumberThatIsTooLarge) {
  for (const char* large : {"2147483648", "99999999999999999999"}) {
    EXPECT_THAT(codes({"models", "--tp", large}), ElementsAre("cli.bad-value"));
    EXPECT_THAT(text, HasSubstr("of at least 1 and at most 2147483647, not '"));
  }
}

TEST_F(Fixture, RefusesWhatDoesNotBelong) {
  EXPECT_THAT(codes({}), ElementsAre("cli.missing-argument"));
  EXPECT_THAT(codes({"models", "a", "b"}), ElementsAre("cli.unexpected-argument"));
  EXPECT_THAT(codes({"models", "--tp"}), ElementsAre("cli.missing-value"));
  EXPECT_THAT(codes({"models", "--tp", "--fast"}), ElementsAre("cli.missing-value"));
  EXPECT_THAT(codes({"models", "--tp", "2", "--tp", "4"}), ElementsAre("cli.repeated"));
  EXPECT_THAT(codes({"models", "--fast=3"}), ElementsAre("cli.bad-value"));
  EXPECT_THAT(codes({"models", "--tp", "99999999999"}), ElementsAre("cli.bad-value"));
  EXPECT_THAT(codes({"models", "--tp="}), ElementsAre("cli.bad-value"));
}

TEST_F(Fixture, HelpFitsItsWidthAndNamesEveryOption) {
  command.example("nereus try models", "an example");
  const std::string help = help_text(command, 60);
  for (const char* word : {"--tp", "--rate", "--set", "-o, --output FILE", "KIND", "[FILTER]",
                           "none|full", "an example"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
}

TEST(Command, TakesWhatFollowsTwoDashesAsItIs) {
  Command command("try", "for tests");
  std::vector<std::string> rest;
  bool fast = false;
  command.flag("--fast", fast, "quick");
  command.rest("COMMAND", rest, "to run");
  parse_words(command, {"--fast", "--", "python3", "--help", "--", "-x"});
  EXPECT_TRUE(fast);
  EXPECT_THAT(rest, ElementsAre("python3", "--help", "--", "-x"));
  EXPECT_THROW(parse_words(command, {"--"}), Errors);
  EXPECT_THAT(help_text(command, 100), HasSubstr("nereus try [options] [-- COMMAND...]"));
}

TEST(Command, FilesFollowTheirOptionUpToTheNext) {
  Command command("try", "for tests");
  std::vector<std::string> files;
  std::string plan;
  std::optional<int> tp;
  command.optional_argument("PLAN", plan, "a plan");
  command.files("--files", "FILE", files, "some");
  command.whole("--tp", tp, 1, "degree");
  parse_words(command, {"a.plan", "--files", "b", "c", "--tp", "2", "--files=d", "e"});
  EXPECT_THAT(files, ElementsAre("b", "c", "d", "e"));
  EXPECT_EQ(plan, "a.plan");
  EXPECT_EQ(tp, 2);
  EXPECT_THROW(parse_words(command, {"--files", "--tp", "2"}), Errors);
}

}  // namespace
}  // namespace nereus::cli::parse_words_test
