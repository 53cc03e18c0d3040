// A study seen along one axis, the others held where an answer has them: which layout takes how
// long at which value. What heat maps and lines are drawn from.
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
  double step = 0;  // seconds; 0 = nothing known
  bool fits = false;
};

struct Slice {
  std::size_t axis = 0;                       // of the study
  std::vector<double> values;                 // of the axis, as the file has them
  std::vector<std::string> rows;              // "tp 8 dp 128"
  std::vector<std::vector<SliceCell>> cells;  // by row
};

// The quickest `most` layouts of any column, in the order of their sizes. Where the space is
// searched and not predicted whole, layouts that fit nowhere are not listed.
Slice slice(Explorer& explorer, const Study& study, const Answer& answer, std::size_t axis,
            int most);

// "tp 8 pp 4 dp 4".
std::string layout_name(const plan::Degrees& degrees);

}  // namespace nereus::explore
