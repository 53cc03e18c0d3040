// The answers of a study: the best plan, the front, and the best plan per value of an axis and per
// machine. They are computed only from one pass over the database, so that a study that is opened
// again has the same answers.
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

// The best of all points with the same value on an axis.
struct Marginal {
  std::size_t axis = 0;  // index in the study
  int position = 0;
  std::optional<Answer> best;  // by the first goal; empty if nothing fits
};

struct Answers {
  std::int64_t points = 0;      // clusters x variants
  std::int64_t strategies = 0;  // of all points together
  std::int64_t evaluated = 0;
  std::array<std::int64_t, kNumStatuses> by_status{};
  std::array<std::int64_t, kNumResources> by_binding{};
  std::array<std::optional<Answer>, kNumGoals> best;  // for each goal of the study
  std::vector<Answer> front;
  std::vector<Marginal> marginals;
  std::vector<std::optional<Answer>> machines;  // best of each machine by the first goal
  std::vector<std::optional<Answer>> variants;  // best of each variant by the first goal
  // Some of the other points, evenly spread, for a picture: (first goal, second goal).
  std::vector<std::array<double, 2>> sample;
};

Answers answers(const Study& study, const Database& database);

}  // namespace nereus::explore
