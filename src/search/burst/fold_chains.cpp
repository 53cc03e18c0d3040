// Combines the branches of a link: every choice of those that leave, for every pair of candidates
// of fork and join.
#include <algorithm>
#include <bit>

#include "search/burst/walk.hpp"

namespace nereus::burst {

namespace {

std::size_t fold_index(int i) { return static_cast<std::size_t>(i); }

// Both run one after the other.
Labels in_turn(LabelList a, LabelList b) {
  Labels out;
  out.reserve(a.size() * b.size());
  for (const Label& first : a)
    for (const Label& second : b)
      out.push_back({first.seconds + second.seconds, first.rank_seconds + second.rank_seconds,
                     first.third + second.third, first.before, second.before});
  return out;
}

// Both run at the same time, so the longer one decides. If bytes do not matter, each time that
// either can have only needs the cheapest label of both within that time.
Labels beside(LabelList a, LabelList b) {
  const auto both = [](const Label& first, const Label& second) {
    return Label{std::max(first.seconds, second.seconds), first.rank_seconds + second.rank_seconds,
                 first.third + second.third, first.before, second.before};
  };
  Labels out;
  const auto no_third = [](const Label& own) { return own.third == 0; };
  if (!std::all_of(a.begin(), a.end(), no_third)) {
    for (const Label& first : a)
      for (const Label& second : b) out.push_back(both(first, second));
    return out;
  }
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    // The last of each that is no slower than the other's next step up.
    while (i + 1 < a.size() && a[i + 1].seconds <= b[j].seconds) ++i;
    while (j + 1 < b.size() && b[j + 1].seconds <= a[i].seconds) ++j;
    out.push_back(both(a[i], b[j]));
    if (i + 1 == a.size() && j + 1 == b.size()) break;
    if (j + 1 == b.size() || (i + 1 < a.size() && a[i + 1].seconds <= b[j + 1].seconds))
      ++i;
    else
      ++j;
  }
  return out;
}

}  // namespace

// Least costs of all but the link between these two, by weight.
std::vector<double> Walk::missing(std::size_t fork, std::size_t join, std::size_t position) const {
  const double* before = least_.up_to(position - 1, fork);
  const double* behind = least_.behind(position, join);
  std::vector<double> out(least_.num_weights());
  for (std::size_t w = 0; w < out.size(); ++w) out[w] = before[w] + behind[w];
  least_.add_block(position, join, out.data());
  return out;
}

// Whether a plan with these two can be of use; `ends` as missing().
bool Walk::pair_useful(std::size_t fork, std::size_t join, std::size_t position,
                       const std::vector<double>& ends) {
  std::vector<double> all = ends;
  const double* link = least_.link(position - 1, fork, join);
  for (std::size_t w = 0; w < all.size(); ++w) all[w] += link[w];
  return bounds_->useful(all.data(), 0, 0);
}

// Keeps useful labels and records how they were built, only for the current fold, because most
// labels are dropped later.
void Walk::settle(Labels& labels, bool away, const std::vector<double>& rest, bool hidden,
                  int renamed) {
  if (!rest.empty())
    std::erase_if(labels, [&](const Label& own) {
      return !bounds_->useful(rest.data(), hidden ? 0 : own.seconds, own.rank_seconds);
    });
  std::erase_if(labels, [&](const Label& own) { return own.third > problem_.memory_limit; });
  keep_best(labels, rest.empty() ? 0 : gain_);
  for (Label& own : labels) {
    if (own.link != -1) {
      fold_steps_.push_back({own.before, own.link, -1, 0, away, renamed});
      own.before = -1 - static_cast<int>(fold_steps_.size());  // -2, -3, ...
    }
    own.link = -1;
  }
}

// The step for good that one of the fold in hand becomes.
int Walk::kept_step(int index) {
  if (index >= -1) return index;
  Step own = fold_steps_[fold_index(-2 - index)];
  own.before = kept_step(own.before);
  own.link = kept_step(own.link);
  return add_step(own);
}

// Least costs of a link's branches if those of `away` leave, by weight.
std::vector<double> Walk::least_of(const Choice& choice, std::size_t branch) const {
  const std::size_t n = least_.num_weights();
  const LabelList away = choice.away[branch];
  const double* here =
      least_.branch_that_stays(choice.position - 1, branch, choice.fork, choice.join);
  std::vector<double> out(n);
  for (std::size_t w = 0; w < n; ++w)
    out[w] = away.empty() ? here[w] : least_.weights()[w].rank_seconds * away.back().rank_seconds;
  return out;
}

// Adds all results of one choice of branches that leave.
void Walk::fold_choice(const Choice& choice, const std::vector<double>& ends, Labels& out) {
  const std::size_t count = choice.here.size();
  // What is still missing: the ends, and the least costs of each branch that is not included yet.
  std::vector<double> rest = ends;
  std::vector<std::vector<double>> least(count);
  const auto take = [&](std::size_t branch, double sign) {
    for (std::size_t w = 0; w < rest.size(); ++w) rest[w] += sign * least[branch][w];
  };
  if (!ends.empty()) {
    for (std::size_t i = 0; i < count; ++i) {
      least[i] = least_of(choice, i);
      take(i, 1);
    }
    if (!bounds_->useful(rest.data(), 0, 0)) return;
  }
  const std::vector<double> all = rest;
  Labels stay(1), leave(1);
  for (std::size_t i = 0; i < count && !stay.empty(); ++i) {
    if (!choice.away[i].empty()) continue;
    take(i, -1);
    stay = in_turn(stay, choice.here[i]);
    made_ += static_cast<std::int64_t>(stay.size());
    settle(stay, false, rest, false, choice.renamed_here[i]);
  }
  if (choice.num_away > 0) {
    rest = all;
    for (std::size_t i = 0; i < count && !leave.empty() && !stay.empty(); ++i) {
      if (choice.away[i].empty()) continue;
      take(i, -1);
      leave = beside(leave, choice.away[i]);
      settle(leave, true, rest, true, choice.renamed_away[i]);
    }
    stay = beside(stay, leave);
    settle(stay, false, ends, false, -1);
  }
  out.insert(out.end(), stay.begin(), stay.end());
}

void Walk::fold(const Branches& branches, std::size_t fork, std::size_t join, Where where,
                std::size_t position, Labels& out) {
  problem_.check_stop();
  const std::size_t count = branches.here.size();
  const bool bounded = where == Where::kTrunk;
  const std::vector<double> ends = bounded ? missing(fork, join, position) : std::vector<double>{};
  if (gave_up()) return;
  if (bounded && !pair_useful(fork, join, position, ends)) return;
  const bool rows_bounded = bounded && memory_binds_;
  Choice choice{position, fork, join, 0, {}, {}, {}, branches.renamed};
  for (std::size_t i = 0; i < count; ++i) {
    choice.here.push_back((rows_bounded ? bounded_row(*branches.link, i, fork, position)
                                        : row_of(*branches.here[i], fork))[join]);
    choice.renamed_here.push_back(rows_bounded ? -1 : branches.renamed[i]);
  }
  fold_steps_.clear();
  for (std::size_t chosen = 0; chosen < (std::size_t{1} << branches.movable.size()); ++chosen) {
    choice.num_away = static_cast<std::size_t>(std::popcount(chosen));
    choice.away.assign(count, {});
    bool possible = true;
    for (std::size_t i = 0; i < branches.movable.size() && possible; ++i) {
      if (((chosen >> i) & 1) == 0) continue;
      const std::vector<BranchTable*>& away = branches.away[choice.num_away - 1];
      LabelList& own = choice.away[branches.movable[i]];
      if (!away.empty()) own = row_of(*away[i], fork)[join];
      possible = !own.empty();
    }
    if (possible) fold_choice(choice, ends, out);
  }
  keep_best(out, bounded ? gain_ : 0);
  for (Label& own : out) own.before = kept_step(own.before);
}

const LinkTable& Walk::table_of(const Link& link, Where where, std::size_t position,
                                int num_candidates) {
  const Key key{&link, where, num_candidates};
  if (const auto known = tables_.find(key); known != tables_.end()) return known->second;
  const auto size = fold_index(k_);
  LinkTable table(size * size);
  const Branches& branches = branches_of(link, where, num_candidates);
  for (std::size_t fork = 0; fork < fold_index(num_candidates); ++fork)
    for (std::size_t join = 0; join < fold_index(num_candidates); ++join)
      fold(branches, fork, join, where, position, table[fork * size + join]);
  return tables_.emplace(key, std::move(table)).first->second;
}

}  // namespace nereus::burst
