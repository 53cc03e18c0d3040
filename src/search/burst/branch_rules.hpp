// Which branches may leave the trunk (search/burst/problem.hpp). Only for use inside search/burst.
#pragma once

#include "search/burst/series_parallel.hpp"

namespace nereus::burst {

double seconds_alone(const Problem& problem, const Branch& branch);  // on one rank
// The branch that takes longest on one rank (the first of equal ones): it always stays on the
// trunk.
std::size_t home_branch(const Problem& problem, const Link& link);
// True for a chain with an edge at each end, if its blocks fit into a rank's memory at every count.
bool may_leave(const Problem& problem, const Branch& branch);
// The branches of a trunk's link that may leave, in order. The search tries every subset of them,
// so only the kMostLeaving longest ones are returned.
inline constexpr std::size_t kMostLeaving = 8;
std::vector<std::size_t> may_leave(const Problem& problem, const Link& link);
// Number of branches that could leave, but that kMostLeaving excludes.
std::size_t num_kept_home(const Problem& problem, const Chain& chain);

}  // namespace nereus::burst
