#include "chart/page.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "chart/chart_testing.hpp"
#include "chart/scatter.hpp"

namespace nereus::chart::page_test {
namespace {

using testing::count_of;
using testing::has;

// The page's body as XML: without its doctype, and with the elements that HTML leaves open closed.
std::string as_xml(std::string html) {
  html.erase(0, html.find("<html"));
  for (const char* part : {"<style>", "<script>"}) {
    const std::string close = std::string("</") + (part + 1);
    for (std::size_t at = html.find(part); at != std::string::npos; at = html.find(part, at + 1)) {
      const std::size_t from = at + std::string(part).size();
      html.erase(from, html.find(close, from) - from);
    }
  }
  for (const char* tag : {"<meta", "<link", "<br"})
    for (std::size_t at = html.find(tag); at != std::string::npos; at = html.find(tag, at + 1))
      html.insert(html.find('>', at), "/");
  return html;
}

Page small() {
  Page page{.title = "A & B", .lead = "Lead."};
  page.sections = {
      {.title = "First <one>",
       .paragraphs = {"text"},
       .pictures = {{svg_of(Scatter{.title = "t", .points = {{1, 2}}}, "p1"), "caption"}},
       .tables = {{"Plans",
                   {{"plan"}, {"time", true}},
                   {{{"a"}, {"1.00 s", 1.0}}, {{"b"}, {"-"}}, {}}}}},
      {.title = "Second"}};
  page.footer = {"nereus explore 'x y'", "1.2", {"study.toml", "<input>"}};
  return page;
}

TEST(Page, HasItsParts) {
  const std::string html = html_of(small());
  EXPECT_EQ(testing::xml_fault(as_xml(html)), "");
  for (const char* text :
       {"<html lang=\"en\">", "<h1>A &amp; B</h1>", "<title>A &amp; B</title>",
        "<a href=\"#section-1\">First &lt;one&gt;</a>", "<section id=\"section-2\">",
        "<caption>Plans</caption>", "<td class=\"n\" data-n=\"1\">1.00 s</td>",
        "<td class=\"n\">-</td>", "<th scope=\"col\" class=\"n\">",
        "<figcaption>caption</figcaption>", "id=\"p1\"", "nereus explore 'x y'",
        "study.toml<br>&lt;input&gt;", "default-src 'none'"})
    EXPECT_TRUE(has(html, text)) << text;
  EXPECT_EQ(count_of(html, "<tr>"), 4u);
  EXPECT_EQ(count_of(html, "<td"), 6u);  // short rows are filled
}

TEST(Page, LoadsNothing) {
  const std::string html = html_of(small());
  EXPECT_FALSE(has(html, "src=\""));
  EXPECT_EQ(count_of(html, "http"),
            count_of(html, "http-equiv") + count_of(html, "xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST(Page, OfNothing) {
  const std::string html = html_of({});
  EXPECT_EQ(testing::xml_fault(as_xml(html)), "");
  EXPECT_TRUE(has(html, "<h1>Report</h1>"));
  EXPECT_FALSE(has(html, "<nav"));
}

TEST(Page, NumbersAreExact) {
  Page page{.title = "t"};
  page.sections = {
      {.title = "s",
       .tables = {{"c", {{"n", true}}, {{{"x", 0.1}}, {{"y", 1e300}}, {{"z", INFINITY}}}}}}};
  const std::string html = html_of(page);
  EXPECT_TRUE(has(html, "data-n=\"0.1\""));
  EXPECT_TRUE(has(html, "data-n=\"1e+300\""));
  EXPECT_TRUE(has(html, "<td class=\"n\">z</td>"));
}

RC_GTEST_PROP(Page, AnyTextIsEscaped, ()) {
  const std::string text = testing::any_text();
  Page page{.title = text, .lead = text};
  page.sections = {{.title = text,
                    .paragraphs = {text},
                    .pictures = {{"", text}},
                    .tables = {{text, {{text}}, {{{text}}}}}},
                   {.title = text}};
  page.footer = {text, text, {text}};
  RC_ASSERT(testing::xml_fault(as_xml(html_of(page))) == "");
}

}  // namespace
}  // namespace nereus::chart::page_test
