#include "export/shell.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace nereus::exporting::shell_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const std::vector<Word>& words) {
  std::vector<std::string> list;
  for (const Word& word : words) list.push_back(word.text);
  return list;
}

// The words of the last command.
std::vector<std::string> last(const std::string& text) {
  const Script script = read_script(text, "t.sh");
  return script.commands.empty() ? std::vector<std::string>{} : texts(script.commands.back().words);
}

TEST(Shell, WordsAndQuotes) {
  EXPECT_THAT(last("run a 'b c' \"d e\" f\\ g"), ElementsAre("run", "a", "b c", "d e", "f g"));
  EXPECT_THAT(last("run a \\\n  b # not this\n"), ElementsAre("run", "a", "b"));
  EXPECT_THAT(last("run a#b 'it''s'"), ElementsAre("run", "a#b", "its"));
}

TEST(Shell, Variables) {
  EXPECT_THAT(last("A=1 B=\"x y\"\nrun $A ${B} \"$B\" ${C:-7} ${A:-8} ${A:+set}"),
              ElementsAre("run", "1", "x", "y", "x y", "7", "1", "set"));
  EXPECT_THAT(last("export N=4\nrun $((N * 2 + 1)) $(($N / 3)) $(( (1+2) * ${N} ))"),
              ElementsAre("run", "9", "1", "12"));
  EXPECT_THAT(last("A=' --x 1'\nA=\"$A --y 2\"\nrun $A \"$@\""),
              ElementsAre("run", "--x", "1", "--y", "2"));
}

TEST(Shell, Arrays) {
  EXPECT_THAT(
      last("A=(\n  --x 1  # one\n  --y 'a b'\n)\nA+=(--z)\nrun \"${A[@]}\" ${A[1]} ${#A[@]}"),
      ElementsAre("run", "--x", "1", "--y", "a b", "--z", "1", "5"));
  EXPECT_THAT(last("A=(1 2)\nrun \"${A[*]}\" ${A[@]} $A"),
              ElementsAre("run", "1 2", "1", "2", "1"));
  EXPECT_THAT(last("A=\"x\"\nA+=\" y\"\nrun $A"), ElementsAre("run", "x", "y"));
}

TEST(Shell, ConditionsThatCanBeDecided) {
  const std::string text =
      "N=2\nF=''\n"
      "if [ $N -gt 1 ]; then F=\"$F --many\"; else F=\"$F --one\"; fi\n"
      "if [[ \"$N\" == 3 ]]; then\n  F=\"$F --three\"\nelif [ $N = 2 ]\nthen\n  F=\"$F "
      "--two\"\nfi\n"
      "[ -z \"$F\" ] && F=\"--empty\"\n"
      "[ -n \"$F\" ] && F=\"$F --full\"\n"
      "run $F\n";
  EXPECT_THAT(last(text), ElementsAre("run", "--many", "--two", "--full"));
}

TEST(Shell, ConditionsOfSeveralTests) {
  const std::string one =
      "if [[ $A == 1 ]] || [[ $A == 2 ]] || [ -f x ]; then F=--yes; else F=--no; fi\n";
  EXPECT_THAT(last("A=2\n" + one + "run $F"), ElementsAre("run", "--yes"));
  const std::string two = "if [ $A = 1 ] && [ $B = 1 ]\nthen\n  F=--yes\nelse\n  F=--no\nfi\n";
  EXPECT_THAT(last("A=1\nB=2\n" + two + "run $F"), ElementsAre("run", "--no"));
  EXPECT_THAT(last("A=1\nB=1\n" + two + "run $F"), ElementsAre("run", "--yes"));
  const Script unknown = read_script("A=3\nF=--old\n" + one + "run $F", "t.sh");
  EXPECT_THAT(texts(unknown.commands.back().words), ElementsAre("run", "--old"));
  ASSERT_EQ(unknown.left_out.size(), 1U);
  EXPECT_EQ(unknown.left_out[0].line, 3);
}

TEST(Shell, WhatIsKnownAtRunTimeOnly) {
  const Script script = read_script(
      "A=$(hostname)\nif [ -f \"$1\" ]; then B=\"--b\"; fi\nfor i in 1 2; do run --i $i; done\n"
      "run --a $A --b $HOME/x --c ${A%.*}\n",
      "t.sh");
  ASSERT_EQ(script.commands.size(), 1U);
  const std::vector<Word>& words = script.commands[0].words;
  EXPECT_THAT(texts(words),
              ElementsAre("run", "--a", "$(hostname)", "--b", "$HOME/x", "--c", "${A%.*}"));
  EXPECT_TRUE(words[1].known);
  EXPECT_FALSE(words[2].known);
  EXPECT_FALSE(words[4].known);
  EXPECT_FALSE(words[6].known);
  EXPECT_TRUE(read_script("if [ -f x ]; then echo no; exit 1; fi\nfor i in 1; do echo; done\n", "t")
                  .left_out.empty());
  ASSERT_EQ(script.left_out.size(), 2U);
  EXPECT_EQ(script.left_out[0].line, 2);
  EXPECT_EQ(script.left_out[1].line, 3);
  EXPECT_EQ(words[0].line, 4);
}

TEST(Shell, ScriptsInsideStringsAndFunctions) {
  EXPECT_THAT(last("X=3\nsrun -N 2 bash -c \"torchrun p.py --n $X\" > log 2>&1 &"),
              ElementsAre("torchrun", "p.py", "--n", "3"));
  EXPECT_THAT(last("options=\"--n 1 --m\"\ncmd=\"python p.py ${options}\"\nsrun sh -c \"${cmd}\""),
              ElementsAre("python", "p.py", "--n", "1", "--m"));
  EXPECT_THAT(last("go() {\n  run --x 1\n}\ngo\n").size(), 1U);
  EXPECT_EQ(read_script("go() {\n  run --x 1\n}\n", "t").commands.back().words.size(), 3U);
}

TEST(Shell, OnePartThatIsNotKnownLeavesTheOthers) {
  const Script script = read_script(
      "CMD=\" `pwd`/p.py --n 4 --m $HOME/x\"\nsrun bash -c \"run --r \\$ID $CMD\" 2>&1 | tee $(log "
      "a)\n",
      "t.sh");
  std::vector<Word> words;
  for (const Command& command : script.commands)
    if (command.words[0].text == "run") words = command.words;
  EXPECT_THAT(texts(words),
              ElementsAre("run", "--r", "$ID", "`pwd`/p.py", "--n", "4", "--m", "$HOME/x"));
  ASSERT_EQ(words.size(), 8U);
  const std::vector<bool> known = {true, true, false, false, true, true, true, false};
  for (std::size_t i = 0; i < known.size(); ++i) EXPECT_EQ(words[i].known, known[i]) << i;
}

TEST(Shell, HereDocumentsAreSkipped) {
  const Script script =
      read_script("cat <<EOF > ds.json\n{\"a\": \"$X\"}\nrun --no\nEOF\nrun --yes\n", "t.sh");
  ASSERT_EQ(script.commands.size(), 2U);
  EXPECT_THAT(texts(script.commands[1].words), ElementsAre("run", "--yes"));
  EXPECT_EQ(script.commands[1].line, 5);
}

TEST(Shell, BadScriptsAreErrorsWithAPlace) {
  for (const char* text : {"a 'b\n", "a \"b\n", "A=( 1 2\n", "a $(b\n", "a ${b\n", "a `b\n"}) {
    try {
      read_script(text, "t.sh");
      ADD_FAILURE() << text;
    } catch (const Errors& errors) {
      EXPECT_EQ(errors.list()[0].code, "import.script") << text;
      EXPECT_EQ(errors.list()[0].where.line, 1) << text;
    }
  }
  std::string bomb = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 60; ++i) bomb += "A=\"$A$A\"\n";
  EXPECT_THROW(read_script(bomb, "t.sh"), Errors);
}

}  // namespace
}  // namespace nereus::exporting::shell_test
