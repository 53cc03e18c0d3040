// A report as one HTML file. It loads nothing from elsewhere (a Content-Security-Policy in the page
// forbids it), so it can be sent by mail and opened from a disk.
//
// It follows light and dark mode, prints in light mode, and scrolls wide tables and pictures on
// small screens. A click on a heading sorts a table: by PageCell::number if there is one, else by
// text; cells without a number stay last. Headings, captions and labels support screen readers.
//
//   Page page{.title = "Exploring llama3-70b", .lead = "1,024 points in 3 s."};
//   page.sections.push_back({.title = "Best", .pictures = {{svg_of(map, "best"), "Step times"}}});
//   write_file("report.html", html_of(page));
//
// Everything is escaped except PagePicture::svg, which must come from this folder or be trusted.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace nereus::chart {

struct PageCell {
  std::string text;
  double number = std::numeric_limits<double>::quiet_NaN();  // the sort key of the cell
};

struct PageColumn {
  std::string title;
  bool numeric = false;  // right-aligned
};

struct PageTable {
  std::string caption;
  std::vector<PageColumn> columns;
  std::vector<std::vector<PageCell>> rows;  // short rows are padded with empty cells
};

struct PagePicture {
  std::string svg;
  std::string caption;
};

struct PageSection {
  std::string title;
  std::vector<std::string> paragraphs = {};
  std::vector<PagePicture> pictures = {};
  std::vector<PageTable> tables = {};
};

struct PageFooter {
  std::string command;
  std::string version;
  std::vector<std::string> inputs = {};
};

struct Page {
  std::string title;
  std::string lead;
  std::vector<PageSection> sections = {};
  PageFooter footer = {};
};

std::string html_of(const Page& page);

}  // namespace nereus::chart
