// A study along one axis, with the other axes fixed at an answer: the time of each layout at each
// value. Heat maps and line charts are drawn from this slice.
//
//   Slice s = slice(explorer, study, answer, axis, 12);
//   s.cells[row][column].step;
#pragma once

#include <string>
#include <vector>

#include "search/explore/answers.hpp"
#include "search/explore/point.hpp"

namespace nereus::explore {

struct SliceCell {
  double step = 0;  // seconds; 0 = unknown
  bool fits = false;
};

struct Slice {
  std::size_t axis = 0;                       // index in the study
  std::vector<double> values;                 // in the order of the file
  std::vector<std::string> rows;              // "tp 8 dp 128"
  std::vector<std::vector<SliceCell>> cells;  // one list per row
};

// The fastest `most` layouts of any column, in the order of their sizes. If the space is searched
// instead of predicted completely, layouts that fit nowhere are not listed.
Slice slice(Explorer& explorer, const Study& study, const Answer& answer, std::size_t axis,
            int most);

// "tp 8 pp 4 dp 4".
std::string layout_name(const plan::Degrees& degrees);

}  // namespace nereus::explore
