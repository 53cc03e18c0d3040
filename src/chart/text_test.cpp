#include "chart/text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chart/chart_testing.hpp"

namespace nereus::chart::text_test {
namespace {

TEST(Text, EscapesWhatXmlDoesNotTake) {
  EXPECT_EQ(escaped("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
  EXPECT_EQ(escaped("one\ntwo\tthree"), "one two three");
  EXPECT_EQ(escaped("\u00d7 \u4e2d \U0001F600"), "\u00d7 \u4e2d \U0001F600");
  EXPECT_EQ(escaped("a\xff"
                    "b\x01"),
            "a\uFFFD"
            "b\uFFFD");
  EXPECT_EQ(escaped("\xc3"), "\uFFFD");                                    // cut short
  EXPECT_EQ(escaped("\xc0\xaf"), "\uFFFD\uFFFD");                          // overlong
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");                // a surrogate
  EXPECT_EQ(escaped("\xef\xbf\xbf"), "\uFFFD");                            // U+FFFF
  EXPECT_EQ(escaped("\xf4\x90\x80\x80").find('\xf4'), std::string::npos);  // beyond U+10FFFF
}

RC_GTEST_PROP(Text, EscapedTextIsWellFormed, ()) {
  const std::string text = escaped(testing::any_text());
  RC_ASSERT(testing::xml_fault("<a b=\"" + text + "\">" + text + "</a>") == "");
  RC_ASSERT(testing::text_fault(text) == "");
}

TEST(Text, WidthsFollowTheLetters) {
  EXPECT_DOUBLE_EQ(text_width("", 12), 0);
  EXPECT_DOUBLE_EQ(text_width("M", 100), 87);
  EXPECT_DOUBLE_EQ(text_width("iiii", 10), 4 * 2.8);
  EXPECT_GT(text_width("MM", 12, true), text_width("MM", 12));
  EXPECT_DOUBLE_EQ(text_width("e\u0301", 10), text_width("e", 10));  // a combining accent
}

RC_GTEST_PROP(Text, ShortenedTextHasRoom, ()) {
  const std::string text = testing::any_text();
  const double width = *rc::gen::inRange(15, 300);
  const std::string result = shortened(text, width, 12);
  RC_ASSERT(text_width(result, 12) <= width + 1e-6);
  if (text_width(text, 12) <= width) RC_ASSERT(result == text);
  if (result != text) {
    RC_ASSERT(result.ends_with("\u2026"));
    RC_ASSERT(text.starts_with(result.substr(0, result.size() - 3)));
  }
}

RC_GTEST_PROP(Text, WrappedTextKeepsItsWords, ()) {
  std::vector<std::string> words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "word", "another", "Mississippi", "of"));
  std::string text, joined;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  const double width = *rc::gen::inRange(100, 400);
  for (const std::string& line : wrapped(text, width, 12)) {
    RC_ASSERT(text_width(line, 12) <= width + 1e-6);
    joined += (joined.empty() ? "" : " ") + line;
  }
  RC_ASSERT(joined == text);
}

TEST(Text, IdsAreIds) {
  EXPECT_EQ(id_of("fig1"), "fig1");
  EXPECT_EQ(id_of("Step time (s)"), "Step-time-s");
  EXPECT_EQ(id_of("1st \"><script>"), "st-script");
  EXPECT_EQ(id_of("\u4e2d 12"), "chart");
  EXPECT_EQ(id_of(""), "chart");
}

TEST(Testing, TheXmlCheckerFindsFaults) {
  using testing::xml_fault;
  EXPECT_EQ(xml_fault("<a x=\"1\"><b/>t &amp; u</a>\n"), "");
  for (const char* bad :
       {"", "<a>", "<a></b>", "<a/><b/>", "<a x=1/>", "<a x=\"1\" x=\"2\"/>", "<a>&</a>",
        "<a x=\"<\"/>", "<a>\x01</a>", "<a>\xff</a>", "text<a/>", "<a", "<1/>", "<a/>&amp;"})
    EXPECT_NE(xml_fault(bad), "") << bad;
}

}  // namespace
}  // namespace nereus::chart::text_test
