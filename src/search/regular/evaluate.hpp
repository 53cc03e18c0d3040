// Evaluates all candidates of one family (search/regular/space.hpp), and returns those that are
// worth keeping.
//
//   FamilyResult r = evaluate(family, space, predictor, judge);
#pragma once

#include <vector>

#include "search/regular/keep.hpp"
#include "search/regular/regular_search.hpp"

namespace nereus::search {

struct FamilyResult {
  std::vector<Candidate> kept;  // the best; with several objectives, the family's front
  std::optional<Candidate> nearest;
  std::optional<Candidate> left_out;  // the fastest that leaves some headroom, but not enough
  double beyond = 0;  // the shortest step of candidates that only lack memory; 0 = none
  std::int64_t evaluated = 0;
  std::int64_t pruned = 0;
  std::int64_t too_much_memory = 0;
  std::int64_t too_much_beyond = 0;
  std::int64_t not_accepted = 0;
};

// The criteria for all families of a wave.
struct Judge {
  const SearchOptions* options = nullptr;
  Rates rates;
  const Keeper* known = nullptr;  // the plans kept before the wave
  int cluster = 0;
};

FamilyResult evaluate(const Family& family, const Space& space, cost::Predictor& predictor,
                      const Judge& judge);

}  // namespace nereus::search
