// Which branches of a trunk's link may leave it (search/burst/problem.hpp). Inside search/burst
// only.
#pragma once

#include "search/burst/series_parallel.hpp"

namespace nereus::burst {

double seconds_alone(const Problem& problem, const Branch& branch);  // on one rank
// The branch of the most seconds on one rank, of equals the first: it stays.
std::size_t home_branch(const Problem& problem, const Link& link);
// A chain with an edge at either end whose blocks fit on a rank whatever their counts.
bool may_leave(const Problem& problem, const Branch& branch);
// Those of a trunk's link that may, in order: every choice among them is tried, so of more than
// this the longest alone.
inline constexpr std::size_t kMostLeaving = 8;
std::vector<std::size_t> may_leave(const Problem& problem, const Link& link);
// Of all branches that may leave, those that are over that number.
std::size_t num_kept_home(const Problem& problem, const Chain& chain);

}  // namespace nereus::burst
