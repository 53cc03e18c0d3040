#include "chart/page.hpp"

#include <fmt/format.h>

#include <cmath>

#include "chart/colours.hpp"
#include "chart/page_parts.hpp"
#include "chart/text.hpp"

namespace nereus::chart {

namespace {

template <class... Arguments>
void add(std::string& html, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(html), format, std::forward<Arguments>(arguments)...);
}

void add_cell(std::string& html, const PageCell& cell, bool numeric) {
  html += numeric ? "<td class=\"n\"" : "<td";
  if (std::isfinite(cell.number)) add(html, " data-n=\"{}\"", cell.number);  // shortest, exact
  add(html, ">{}</td>", escaped(cell.text));
}

void add_table(std::string& html, const PageTable& table) {
  add(html,
      "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\n"
      "<table>\n<caption>{0}</caption>\n<thead><tr>",
      escaped(table.caption.empty() ? "Table" : table.caption));
  for (const PageColumn& column : table.columns)
    add(html, "<th scope=\"col\"{}><button type=\"button\">{}</button></th>",
        column.numeric ? " class=\"n\"" : "", escaped(column.title));
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<PageCell>& row : table.rows) {
    html += "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      add_cell(html, c < row.size() ? row[c] : PageCell{}, table.columns[c].numeric);
    html += "</tr>\n";
  }
  html += "</tbody>\n</table>\n</div>\n";
}

void add_section(std::string& html, const PageSection& section, std::size_t number) {
  add(html, "<section id=\"section-{}\">\n<h2>{}</h2>\n", number, escaped(section.title));
  for (const std::string& paragraph : section.paragraphs)
    add(html, "<p>{}</p>\n", escaped(paragraph));
  for (const PagePicture& picture : section.pictures) {
    add(html, "<figure>\n<div class=\"wide\" role=\"group\" tabindex=\"0\" aria-label=\"{}\">\n",
        escaped(picture.caption.empty() ? "Picture" : picture.caption));
    html += picture.svg;
    html += "</div>\n";
    if (!picture.caption.empty())
      add(html, "<figcaption>{}</figcaption>\n", escaped(picture.caption));
    html += "</figure>\n";
  }
  for (const PageTable& table : section.tables) add_table(html, table);
  html += "</section>\n";
}

void add_contents(std::string& html, const Page& page) {
  if (page.sections.size() < 2) return;
  html += "<nav aria-label=\"Contents\">\n<p>Contents</p>\n<ol>\n";
  for (std::size_t i = 0; i < page.sections.size(); ++i)
    add(html, "<li><a href=\"#section-{}\">{}</a></li>\n", i + 1, escaped(page.sections[i].title));
  html += "</ol>\n</nav>\n";
}

void add_footer(std::string& html, const PageFooter& footer) {
  html += "<footer>\n<dl>\n";
  if (!footer.command.empty())
    add(html, "<dt>Command</dt><dd><code>{}</code></dd>\n", escaped(footer.command));
  if (!footer.version.empty()) add(html, "<dt>Version</dt><dd>{}</dd>\n", escaped(footer.version));
  if (!footer.inputs.empty()) {
    html += "<dt>Inputs</dt><dd>";
    for (std::size_t i = 0; i < footer.inputs.size(); ++i)
      add(html, "{}{}", i == 0 ? "" : "<br>", escaped(footer.inputs[i]));
    html += "</dd>\n";
  }
  html += "</dl>\n</footer>\n";
}

}  // namespace

std::string html_of(const Page& page) {
  const std::string title = escaped(page.title.empty() ? "Report" : page.title);
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src "
      "'unsafe-inline';script-src 'unsafe-inline';img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n";
  add(html, "<title>{}</title>\n<style>\n", title);
  html += theme_css(":root");
  add(html,
      ":root{{--link:#0b57c2}}@media screen and (prefers-color-scheme:dark)"
      "{{:root{{--link:#8ab8ff}}}}");
  html += kPageStyle;
  add(html, "</style>\n</head>\n<body>\n<div class=\"page\">\n<header>\n<h1>{}</h1>\n", title);
  if (!page.lead.empty()) add(html, "<p class=\"lead\">{}</p>\n", escaped(page.lead));
  add_contents(html, page);
  html += "</header>\n<main>\n";
  for (std::size_t i = 0; i < page.sections.size(); ++i) add_section(html, page.sections[i], i + 1);
  html += "</main>\n";
  add_footer(html, page.footer);
  html += "</div>\n<script>";
  html += kPageScript;
  return html + "</script>\n</body>\n</html>\n";
}

}  // namespace nereus::chart
