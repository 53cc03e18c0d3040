#include "search/burst/walk.hpp"

#include <algorithm>
#include <cmath>

#include "search/burst/fronts.hpp"
#include "search/burst/never.hpp"

namespace nereus::burst {

namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

int candidates_up_to(const std::vector<int>& counts, int most) {
  return static_cast<int>(std::upper_bound(counts.begin(), counts.end(), most) - counts.begin());
}

}  // namespace

Walk::Walk(const Problem& problem, const Chain& chain, std::int64_t most_made)
    : problem_(problem),
      chain_(chain),
      k_(candidates_up_to(problem.counts, problem.trunk_ranks)),
      memory_binds_(burst::memory_binds(problem)),
      moves_(problem, index(k_)),
      shapes_(problem),
      least_(problem, chain, k_, away_candidates(1), usual_weights(problem.trunk_ranks)),
      most_made_(most_made) {}

int Walk::away_candidates(int num_away) const {
  const int rest = (problem_.num_ranks - problem_.trunk_ranks) / num_away;
  return std::min(k_, candidates_up_to(problem_.counts, rest));
}

std::vector<KnownPlan> Walk::plans() const {
  return memory_binds_ ? std::vector<KnownPlan>{} : least_.plans();
}

int Walk::add_step(const Step& step) {
  steps_.push_back(step);
  return static_cast<int>(steps_.size()) - 1;
}

void Walk::record(Labels& labels, int block, int candidate) {
  labels_ += static_cast<std::int64_t>(labels.size());
  for (Label& own : labels) {
    own.before = add_step({own.before, own.link, block, candidate, false});
    own.link = -1;
  }
}

// `held` is the cost of the link in rank-seconds, `move` in seconds.
void Walk::add_block(const Label& before, double move, double held, int block, int candidate,
                     Where where, Labels& to) const {
  const Block& own = problem_.blocks[index(block)];
  const double count = problem_.counts[index(candidate)];
  const double seconds = own.seconds[index(candidate)];
  if (!(seconds < kNever)) return;
  Label label = before;
  label.seconds += move + seconds;
  label.rank_seconds += held + count * seconds;
  if (!off_trunk(where) && memory_binds_) {
    label.third += own.memory.empty() ? 0 : own.memory[index(candidate)];
    if (label.third > problem_.memory_limit) return;
  }
  to.push_back(label);
}

States Walk::start(int block, Where where) {
  States states;
  for (int k = 0; k < k_; ++k) {
    own_.clear();
    add_block({}, 0, 0, block, k, where, own_);
    record(own_, block, k);
    states.add(own_);
  }
  return states;
}

// Considers only seconds and rank-seconds; `to` has no dominated labels, and keeps this property.
void Walk::extend_two(LabelList from, const Addition& more, const double* rest, Labels& to) {
  constexpr std::size_t kFew = 4, kChunk = 8;
  // The fastest and the cheapest label combined: if that is no better, none is.
  const double fastest = from.front().seconds + more.seconds;
  std::size_t known = num_as_fast(to, fastest);
  if (known > 0 && to[known - 1].rank_seconds <= from.back().rank_seconds + more.rank_seconds)
    return;
  Labels& made = made_now_;
  made.clear();
  const auto of_use = [&](double seconds, double held) {
    while (known < to.size() && to[known].seconds <= seconds) ++known;
    if (known > 0 && to[known - 1].rank_seconds <= held) return false;
    return !rest || bounds_->useful(rest, seconds, held);
  };
  // In a long list, the same check is done per chunk.
  const std::size_t some = from.size() > kChunk ? kChunk : from.size();
  for (std::size_t i = 0; i < from.size(); i += some) {
    const LabelList chunk = from.subspan(i, std::min(some, from.size() - i));
    if (some == kChunk && !of_use(chunk.front().seconds + more.seconds,
                                  chunk.back().rank_seconds + more.rank_seconds))
      continue;
    for (const Label& before : chunk) {
      const double seconds = before.seconds + more.seconds;
      const double held = before.rank_seconds + more.rank_seconds;
      if (of_use(seconds, held)) made.push_back({seconds, held, 0, before.before, more.link});
    }
  }
  made_ += static_cast<std::int64_t>(made.size());
  if (made.size() <= kFew)
    for (const Label& own : made) insert_best(to, own);
  else
    merge_best(to, made, scratch_);
}

void Walk::extend(LabelList from, const Addition& more, const double* rest, bool two, Labels& to) {
  if (from.empty()) return;
  if (two) return extend_two(from, more, rest, to);
  const std::size_t before_all = to.size();
  for (const Label& before : from) {
    const Label sum{before.seconds + more.seconds, before.rank_seconds + more.rank_seconds,
                    before.third + more.third, before.before, more.link};
    if (sum.third > problem_.memory_limit) continue;
    if (rest && !bounds_->useful(rest, sum.seconds, sum.rank_seconds)) continue;
    to.push_back(sum);
  }
  made_ += static_cast<std::int64_t>(to.size() - before_all);
}

void Walk::hop(const States& from, const Moves::Table& moves, std::size_t candidate,
               const Addition& more, const double* rest, bool two, Labels& to) {
  const double* seconds = &moves.seconds_into[candidate * index(k_)];
  const double* held = &moves.rank_seconds_into[candidate * index(k_)];
  const auto take = [&](std::size_t k) {
    extend(from[k], {seconds[k] + more.seconds, held[k] + more.rank_seconds, more.third, more.link},
           rest, two, to);
  };
  if (!two) {
    for (std::size_t k = 0; k < from.size(); ++k) take(k);
    return;
  }
  // The fastest and the cheapest label of each candidate, combined. Those with the branches that
  // stay, the fastest and the cheapest come first, because most others are no better, which is seen
  // quickly.
  const double* fast = from.seconds().data();
  const double* cheap = from.rank_seconds().data();
  std::size_t fastest = 0, cheapest = 0;
  for (std::size_t k = 1; k < from.size(); ++k) {
    if (fast[k] + seconds[k] < fast[fastest] + seconds[fastest]) fastest = k;
    if (cheap[k] + held[k] < cheap[cheapest] + held[cheapest]) cheapest = k;
  }
  if (candidate < from.size()) take(candidate);
  take(fastest);
  take(cheapest);
  for (std::size_t k = 0; k < from.size(); ++k)
    if (!has_as_good(to, fast[k] + (seconds[k] + more.seconds),
                     cheap[k] + (held[k] + more.rank_seconds)))
      take(k);
}

void Walk::hop(const States& from, const LinkTable& table, std::size_t candidate,
               const Addition& more, const double* rest, bool two, Labels& to) {
  for (std::size_t turn = 0; turn < from.size(); ++turn) {
    const std::size_t k = turn == 0 ? candidate : turn <= candidate ? turn - 1 : turn;
    const Labels& link = table[k * index(k_) + candidate];
    if (from[k].empty() || link.empty()) continue;
    if (gave_up()) return;
    if (two) {
      const double fast = from[k].front().seconds + (more.seconds + link.front().seconds);
      const double cheap =
          from[k].back().rank_seconds + (more.rank_seconds + link.back().rank_seconds);
      if (has_as_good(to, fast, cheap)) continue;
      if (rest && !bounds_->useful(rest, fast, cheap)) continue;
    }
    for (const Label& own : link)
      extend(from[k],
             {more.seconds + own.seconds, more.rank_seconds + own.rank_seconds,
              more.third + own.third, own.before},
             rest, two, to);
  }
}

States Walk::next(const Link& link, const States& from, int block, Where where, double gain,
                  std::size_t position, const double* rest) {
  States states;
  const LinkTable* table =
      link.plain() ? nullptr : &table_of(link, where, position, static_cast<int>(from.size()));
  const Moves::Table* moves = table ? nullptr : &moves_.of(link.bytes(), false);
  const Block& own_block = problem_.blocks[index(block)];
  const bool two = off_trunk(where) || !memory_binds_;  // no third to mind
  Labels& own = own_;
  for (std::size_t to = 0; to < from.size(); ++to) {
    problem_.check_stop();
    own.clear();
    const double seconds = own_block.seconds[to];
    if (seconds < kNever && !gave_up()) {
      const Addition more{seconds, seconds * problem_.counts[to],
                          two || own_block.memory.empty() ? 0 : own_block.memory[to]};
      const double* behind = rest ? rest + to * least_.num_weights() : nullptr;
      if (moves)
        hop(from, *moves, to, more, behind, two, own);
      else
        hop(from, *table, to, more, behind, two, own);
      if (!two || gain > 0) keep_best(own, gain);
      record(own, block, static_cast<int>(to));
    }
    states.add(own);
  }
  return states;
}

States Walk::trunk(double gain, const std::vector<KnownPlan>& known,
                   const std::vector<KnownPlan>& before) {
  bounds_.emplace(least_.weights(), known, before);
  gain_ = gain;
  bounded_rows_.clear();
  std::erase_if(tables_,
                [](const auto& own) { return std::get<Where>(own.first) == Where::kTrunk; });
  States states = start(chain_.blocks.front(), Where::kTrunk);
  for (std::size_t i = 0; i < chain_.links.size(); ++i)
    states = next(chain_.links[i], states, chain_.blocks[i + 1], Where::kTrunk, gain, i + 1,
                  least_.behind(i + 1, 0));
  return states;
}

}  // namespace nereus::burst
