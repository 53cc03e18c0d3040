// A verb's table as one of a page, and the page's end.
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
