// Converts a verb's table to a table of an HTML page, and makes the page's footer.
//
//   page.sections.push_back({.title = "Best", .tables = {page_table(table)}});
//   page.footer = page_footer("nereus recommend", {});
#pragma once

#include <string>
#include <vector>

#include "api/form/report.hpp"
#include "chart/page.hpp"

namespace nereus::api {

chart::PageTable page_table(const Table& table);
chart::PageFooter page_footer(std::string command, std::vector<std::string> inputs);

}  // namespace nereus::api
