// What the results of a study say: the best, the front, the best of each value of an axis and of
// each machine. One pass over the database; nothing else decides them, so that a study that is
// opened again says the same.
//
//   Answers a = answers(study, database);
//   a.best->values[0];
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "search/explore/database.hpp"

namespace nereus::explore {

// A point with its plan.
struct Answer {
  std::int64_t point = 0;
  int place = 0;
  Coordinates at;
  Found found;
  double beyond = 0;
};

// The best of all points that share one value of an axis.
struct Marginal {
  std::size_t axis = 0;  // of the study
  int position = 0;
  std::optional<Answer> best;  // by the first goal; nothing where none fits
};

struct Answers {
  std::int64_t points = 0;      // clusters x variants
  std::int64_t strategies = 0;  // of all of them together
  std::int64_t evaluated = 0;
  std::array<std::int64_t, kNumStatuses> by_status{};
  std::array<std::int64_t, kNumResources> by_binding{};
  std::array<std::optional<Answer>, kNumGoals> best;  // in each goal of the study
  std::vector<Answer> front;
  std::vector<Marginal> marginals;
  std::vector<std::optional<Answer>> machines;  // best of each by the first goal
  std::vector<std::optional<Answer>> variants;
  // Some of the others, evenly spread, for a picture: (first goal, second goal).
  std::vector<std::array<double, 2>> sample;
};

Answers answers(const Study& study, const Database& database);

}  // namespace nereus::explore
