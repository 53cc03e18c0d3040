// Solves each branch of a link as a chain, between every pair of candidates of fork and join.
// search/burst/fold_chains.cpp combines them.
#include <algorithm>

#include "search/burst/branch_rules.hpp"
#include "search/burst/never.hpp"
#include "search/burst/walk.hpp"

namespace nereus::burst {

namespace {
std::size_t at(int i) { return static_cast<std::size_t>(i); }
}  // namespace

// Labels at the first block.
States Walk::branch_start(const Branch& branch, int fork, Where where, int candidates,
                          const double* rest) {
  const bool away = where == Where::kAway;
  const int first = branch.inner.blocks.front();
  States states;
  if (!branch.ends[0].plain()) {
    const Label none;
    States from;
    for (int k = 0; k < candidates; ++k) from.add(k == fork ? LabelList(&none, 1) : LabelList());
    return next(branch.ends[0], from, first, where, 0, 0, rest);
  }
  const Moves::Table& moves = moves_.of(branch.ends[0].bytes(), away);
  for (int k = 0; k < candidates; ++k) {
    const std::size_t pair = at(fork) * at(k_) + at(k);
    own_.clear();
    add_block({}, moves.seconds[pair], moves.rank_seconds[pair], first, k, where, own_);
    if (rest && !own_.empty() &&
        !bounds_->useful(rest + at(k) * least_.num_weights(), own_[0].seconds,
                         own_[0].rank_seconds))
      own_.clear();
    record(own_, first, k);
    states.add(own_);
  }
  return states;
}

States Walk::branch(const Branch& branch, int fork, Where where, int candidates,
                    const Rests& rests) {
  const auto rest = [&](std::size_t i) { return rests.empty() ? nullptr : rests[i].data(); };
  const bool away = where == Where::kAway;
  // Blocks of a branch that left move samples between its own ranks.
  const Where inner = away ? Where::kWithin : where;
  const auto size = at(k_);
  States out;
  if (branch.edge()) {
    const Moves::Table& moves = moves_.of(branch.bytes, away);
    for (std::size_t to = 0; to < size; ++to) {
      const Label own{moves.seconds[at(fork) * size + to],
                      moves.rank_seconds[at(fork) * size + to]};
      out.add({&own, 1});
    }
    return out;
  }
  States states = branch_start(branch, fork, where, candidates, rest(0));
  for (std::size_t i = 0; i < branch.inner.links.size(); ++i)
    states =
        next(branch.inner.links[i], states, branch.inner.blocks[i + 1], inner, 0, 0, rest(i + 1));
  const bool plain = branch.ends[1].plain();
  const LinkTable* table = plain ? nullptr : &table_of(branch.ends[1], inner, 0, candidates);
  const Moves::Table* moves = plain ? &moves_.of(branch.ends[1].bytes(), away) : nullptr;
  const bool two = off_trunk(where) || !memory_binds_;
  // Behind a branch that left comes the trunk, which may be wider.
  Labels& own = own_;
  for (std::size_t to = 0; to < (away ? size : at(candidates)); ++to) {
    own.clear();
    const double* behind = rests.empty() ? nullptr : &rests.back()[to * least_.num_weights()];
    if (moves)
      hop(states, *moves, to, {}, behind, two, own);
    else
      hop(states, *table, to, {}, behind, two, own);
    if (!two) keep_best(own);
    if (table)
      for (Label& label : own) {
        label.before = add_step({label.before, label.link, -1, 0, false});
        label.link = -1;
      }
    out.add(own);
  }
  return out;
}

Walk::BranchTable& Walk::branch_table(const Branch& any, Where where, int candidates) {
  const int shape = shapes_.of(any);
  const Branch* own = worked_out_.try_emplace(shape, &any).first->second;
  BranchTable& table = branch_tables_[{shape, where, candidates}];
  if (!table.branch) {
    table = {own, where, candidates, {}};
    // Every candidate of the trunk may be the fork of a branch that left.
    table.rows.resize(at(where == Where::kAway ? k_ : candidates));
  }
  return table;
}

const States& Walk::row_of(BranchTable& table, std::size_t fork) {
  std::optional<States>& row = table.rows[fork];
  if (!row && gave_up()) {
    row.emplace();
    for (int k = 0; k < k_; ++k) row->add({});
  } else if (!row) {
    row = branch(*table.branch, static_cast<int>(fork), table.where, table.candidates, {});
  }
  return *row;
}

const States& Walk::bounded_row(const Link& link, std::size_t branch_index, std::size_t fork,
                                std::size_t position) {
  const auto [place, first] = bounded_rows_.try_emplace({position, branch_index, fork});
  if (first) {
    const Branch& own = link.branches[branch_index];
    place->second = branch(own, static_cast<int>(fork), Where::kBranch, k_,
                           own.edge() ? Rests{} : rests_of(link, branch_index, fork, position));
  }
  return place->second;
}

// From the join backwards: the rest of the plan and the other branches, then block after block.
// Inner branches are assumed to cost nothing.
Walk::Rests Walk::rests_of(const Link& link, std::size_t branch, std::size_t fork,
                           std::size_t position) const {
  const std::size_t n = least_.num_weights(), size = at(k_);
  const Branch& own = link.branches[branch];
  const std::vector<int>& blocks = own.inner.blocks;
  Rests out(blocks.size() + 1, std::vector<double>(size * n, kNever));
  for (std::size_t join = 0; join < size; ++join) {
    std::vector<double> sum = missing(fork, join, position);
    for (std::size_t i = 0; i < link.branches.size(); ++i)
      if (i != branch)
        for (std::size_t w = 0; w < n; ++w) sum[w] += least_.branch(position - 1, i, fork, join)[w];
    std::copy(sum.begin(), sum.end(), &out.back()[join * n]);
  }
  for (std::size_t p = blocks.size(); p-- > 0;) {
    const bool last = p + 1 == blocks.size();
    const Link& hop = last ? own.ends[1] : own.inner.links[p];
    const Moves::Table* moves = hop.plain() ? &moves_.of(hop.bytes(), false) : nullptr;
    for (std::size_t to = 0; to < size; ++to) {
      const double seconds = last ? 0 : problem_.blocks[at(blocks[p + 1])].seconds[to];
      if (!(seconds < kNever)) continue;
      const double* behind = &out[p + 1][to * n];
      for (std::size_t k = 0; k < size; ++k) {
        const double t = seconds + (moves ? moves->seconds[k * size + to] : 0);
        const double c =
            seconds * problem_.counts[to] + (moves ? moves->rank_seconds[k * size + to] : 0);
        double* rest = &out[p][k * n];
        for (std::size_t w = 0; w < n; ++w) {
          const Weight& weight = least_.weights()[w];
          rest[w] = std::min(rest[w], weight.seconds * t + weight.rank_seconds * c + behind[w]);
        }
      }
    }
  }
  return out;
}

// For each block of the branch that was solved, the block of this one; -1 if they are the same.
int Walk::rename_of(const Branch& own) {
  const Branch& first = *worked_out_.at(shapes_.of(own));
  if (&first == &own) return -1;
  const std::vector<int> from = blocks_of(first), to = blocks_of(own);
  std::vector<int> names(problem_.blocks.size(), -1);
  for (std::size_t i = 0; i < from.size(); ++i) names[at(from[i])] = to[i];
  renamed_.push_back(std::move(names));
  return static_cast<int>(renamed_.size()) - 1;
}

const Walk::Branches& Walk::branches_of(const Link& link, Where where, int num_candidates) {
  const Key key{&link, where, num_candidates};
  if (const auto known = branches_.find(key); known != branches_.end()) return known->second;
  Branches out;
  out.link = &link;
  for (const Branch& own : link.branches) {
    out.here.push_back(
        &branch_table(own, where == Where::kTrunk ? Where::kBranch : where, num_candidates));
    out.renamed.push_back(rename_of(own));
  }
  // Branches within branches stay with them.
  if (where == Where::kTrunk && away_candidates(1) > 0) out.movable = may_leave(problem_, link);
  out.away.resize(out.movable.size());
  for (std::size_t n = 1; n <= out.movable.size(); ++n) {
    const int candidates = away_candidates(static_cast<int>(n));
    if (candidates == 0) break;
    for (const std::size_t i : out.movable)
      out.away[n - 1].push_back(&branch_table(link.branches[i], Where::kAway, candidates));
  }
  return branches_.emplace(key, std::move(out)).first->second;
}

}  // namespace nereus::burst
