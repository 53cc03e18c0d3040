// Branches of a link: each solved as a chain between every pair of candidates of fork and join,
// then put together.
#include <algorithm>
#include <bit>

#include "search/burst/branch_rules.hpp"
#include "search/burst/walk.hpp"

namespace nereus::burst {

namespace {
std::size_t at(int i) { return static_cast<std::size_t>(i); }
}  // namespace

namespace {

// Both one after the other.
Labels in_turn(const Labels& a, const Labels& b) {
  Labels out;
  out.reserve(a.size() * b.size());
  for (const Label& first : a)
    for (const Label& second : b)
      out.push_back({first.seconds + second.seconds, first.rank_seconds + second.rank_seconds,
                     first.third + second.third, first.before, second.before});
  return out;
}

// Both at once: the longer decides. Where bytes are no matter, each time that either can have needs
// the cheapest of both within it alone.
Labels beside(const Labels& a, const Labels& b) {
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

States Walk::branch(const Branch& branch, int fork, Where where, int candidates) {
  const bool away = where == Where::kAway;
  // Blocks of a branch that left move samples between its own ranks.
  const Where inner = away ? Where::kWithin : where;
  const auto size = at(k_);
  const auto move = [&](int from, int to, double bytes) {
    if (!away && from == to) return 0.0;
    return move_seconds(away ? problem_.away_of(from, to) : problem_.near_of(from, to), bytes);
  };
  const auto held = [&](int from, int to, double seconds) {
    // Ranks of both ends are held where they are not the same.
    const int a = problem_.counts[at(from)], b = problem_.counts[at(to)];
    return seconds * (away ? a + b : std::max(a, b));
  };
  States out(size);
  if (branch.edge()) {
    for (int to = 0; to < k_; ++to) {
      Label own;
      own.seconds = move(fork, to, branch.bytes);
      own.rank_seconds = held(fork, to, own.seconds);
      out[at(to)].push_back(own);
    }
    return out;
  }
  States states(at(candidates));
  const int first = branch.inner.blocks.front();
  if (branch.ends[0].plain()) {
    for (int k = 0; k < candidates; ++k) {
      const double seconds = move(fork, k, branch.ends[0].bytes());
      add_block({}, seconds, held(fork, k, seconds), -1, first, k, where, states[at(k)]);
      record(states[at(k)], first, k);
    }
  } else {
    States from(at(candidates));
    from[at(fork)].push_back({});
    states = next(branch.ends[0], from, first, inner, 0, 0);
  }
  for (std::size_t i = 0; i < branch.inner.links.size(); ++i)
    states = next(branch.inner.links[i], states, branch.inner.blocks[i + 1], inner, 0, 0);
  const LinkTable* table =
      branch.ends[1].plain() ? nullptr : &table_of(branch.ends[1], inner, 0, candidates);
  const bool ordered = !table && (off_trunk(where) || !memory_binds_);
  Labels made;
  // Behind a branch that left comes the trunk, which may be wider.
  for (int to = 0; to < (away ? k_ : candidates); ++to) {
    Labels& own = out[at(to)];
    for (int k = 0; k < static_cast<int>(states.size()); ++k) {
      made.clear();
      const double edge = table ? 0 : move(k, to, branch.ends[1].bytes());
      for (const Label& before : states[at(k)]) {
        if (!table) {
          Label label = before;
          label.seconds += edge;
          label.rank_seconds += held(k, to, edge);
          made.push_back(label);
          continue;
        }
        for (const Label& between : (*table)[at(k) * size + at(to)]) {
          Label label = before;
          label.seconds += between.seconds;
          label.rank_seconds += between.rank_seconds;
          label.third += between.third;
          label.link = between.before;
          made.push_back(label);
        }
      }
      made_ += static_cast<std::int64_t>(made.size());
      // Those of one candidate are in order already.
      if (ordered)
        merge_best(own, made);
      else
        own.insert(own.end(), made.begin(), made.end());
    }
    if (!ordered) keep_best(own);
    if (table)
      for (Label& label : own) label.before = add_step({label.before, label.link, -1, 0, false});
  }
  return out;
}

// Least costs of all but the link between these two, by weight.
std::vector<double> Walk::missing(std::size_t fork, std::size_t join, std::size_t position) const {
  const double* before = least_.up_to(position - 1, fork);
  const double* behind = least_.behind(position, join);
  std::vector<double> out(least_.num_weights());
  for (std::size_t w = 0; w < out.size(); ++w) out[w] = before[w] + behind[w];
  least_.add_block(position, join, out.data());
  return out;
}

// Keeps what is of use, and notes how it came about.
void Walk::settle(Labels& labels, bool away, const std::vector<double>& rest, bool hidden) {
  if (!rest.empty())
    std::erase_if(labels, [&](const Label& own) {
      return !bounds_->useful(rest.data(), hidden ? 0 : own.seconds, own.rank_seconds);
    });
  std::erase_if(labels, [&](const Label& own) { return own.third > problem_.memory_limit; });
  keep_best(labels, rest.empty() ? 0 : gain_);
  for (Label& own : labels) {
    if (own.link >= 0) own.before = add_step({own.before, own.link, -1, 0, away});
    own.link = -1;
  }
}

void Walk::fold(const Branches& branches, std::size_t fork, std::size_t join, Where where,
                std::size_t position, Labels& out) {
  const std::size_t count = branches.here.size();
  const bool bounded = where == Where::kTrunk;
  const std::vector<double> ends = bounded ? missing(fork, join, position) : std::vector<double>{};
  if (gave_up()) return;
  for (std::size_t chosen = 0; chosen < (std::size_t{1} << branches.movable.size()); ++chosen) {
    const auto num_away = static_cast<std::size_t>(std::popcount(chosen));
    if (num_away > 0 && branches.away[num_away - 1].empty()) continue;
    std::vector<int> place(count, -1);  // of those that leave
    for (std::size_t i = 0; i < branches.movable.size(); ++i)
      if ((chosen >> i) & 1) place[branches.movable[i]] = static_cast<int>(i);
    // What is still missing: the ends, and the least of each branch that is not in yet.
    std::vector<double> rest = ends;
    const auto take = [&](std::size_t branch, double sign) {
      const double* own = bounded ? least_.branch(position - 1, branch, fork, join) : nullptr;
      for (std::size_t w = 0; w < rest.size(); ++w) rest[w] += sign * own[w];
    };
    for (std::size_t i = 0; i < count; ++i) take(i, 1);
    const std::vector<double> all = rest;
    Labels stay(1), leave(1);
    for (std::size_t i = 0; i < count && !stay.empty(); ++i) {
      if (place[i] >= 0) continue;
      take(i, -1);
      stay = in_turn(stay, branches.here[i][join]);
      made_ += static_cast<std::int64_t>(stay.size());
      settle(stay, false, rest, false);
    }
    if (num_away > 0) {
      rest = all;
      for (std::size_t i = 0; i < count && !leave.empty(); ++i) {
        if (place[i] < 0) continue;
        take(i, -1);
        leave =
            beside(leave, branches.away[num_away - 1][static_cast<std::size_t>(place[i])][join]);
        settle(leave, true, rest, true);
      }
      stay = beside(stay, leave);
      settle(stay, false, ends, false);
    }
    out.insert(out.end(), stay.begin(), stay.end());
  }
  keep_best(out, bounded ? gain_ : 0);
}

// From every candidate of the fork. They do not depend on bounds or on the plans known, so that
// both walks over the trunk share them.
const std::vector<Walk::Branches>& Walk::branches_of(const Link& link, Where where,
                                                     int num_candidates) {
  const Key key{&link, where, num_candidates};
  if (const auto known = branches_.find(key); known != branches_.end()) return known->second;
  std::vector<Branches> out;
  Branches branches;
  branches.home = home_branch(problem_, link);
  // Branches within branches stay with them.
  for (std::size_t i = 0; i < link.branches.size(); ++i)
    if (where == Where::kTrunk && i != branches.home && may_leave(problem_, link.branches[i]))
      branches.movable.push_back(i);
  for (int fork = 0; fork < num_candidates; ++fork) {
    branches.here.clear();
    if (gave_up()) {
      branches.here.assign(link.branches.size(), States(at(k_)));
      branches.away.clear();
      out.push_back(branches);
      continue;
    }
    for (const Branch& own : link.branches)
      branches.here.push_back(
          branch(own, fork, where == Where::kTrunk ? Where::kBranch : where, num_candidates));
    branches.away.assign(branches.movable.size(), {});
    for (std::size_t n = 1; n <= branches.movable.size(); ++n) {
      const int candidates = away_candidates(static_cast<int>(n));
      if (candidates == 0) break;
      std::vector<States>& own = branches.away[n - 1];
      if (n > 1 && candidates == away_candidates(static_cast<int>(n) - 1))
        own = branches.away[n - 2];
      else
        for (const std::size_t i : branches.movable)
          own.push_back(branch(link.branches[i], fork, Where::kAway, candidates));
    }
    out.push_back(branches);
  }
  return branches_.emplace(key, std::move(out)).first->second;
}

const LinkTable& Walk::table_of(const Link& link, Where where, std::size_t position,
                                int num_candidates) {
  const Key key{&link, where, num_candidates};
  if (const auto known = tables_.find(key); known != tables_.end()) return known->second;
  const auto size = at(k_);
  LinkTable table(size * size);
  const std::vector<Branches>& branches = branches_of(link, where, num_candidates);
  for (std::size_t fork = 0; fork < at(num_candidates); ++fork)
    for (std::size_t join = 0; join < at(num_candidates); ++join)
      fold(branches[fork], fork, join, where, position, table[fork * size + join]);
  return tables_.emplace(key, std::move(table)).first->second;
}

}  // namespace nereus::burst
