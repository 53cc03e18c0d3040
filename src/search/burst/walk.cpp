#include "search/burst/walk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nereus::burst {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

int candidates_up_to(const std::vector<int>& counts, int most) {
  return static_cast<int>(std::upper_bound(counts.begin(), counts.end(), most) - counts.begin());
}

}  // namespace

Walk::Walk(const Problem& problem, const Chain& chain, std::int64_t most_made)
    : problem_(problem),
      chain_(chain),
      k_(candidates_up_to(problem.counts, problem.trunk_ranks)),
      least_(problem, chain, k_, away_candidates(1), usual_weights(problem.trunk_ranks)),
      most_made_(most_made) {
  double most = 0;
  for (const Block& block : problem.blocks)
    if (!block.memory.empty()) most += *std::max_element(block.memory.begin(), block.memory.end());
  memory_binds_ = most > problem.memory_limit;
}

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

// `held` is what the link takes in rank-seconds, `move` in seconds.
void Walk::add_block(const Label& before, double move, double held, int link, int block,
                     int candidate, Where where, Labels& to) const {
  const Block& own = problem_.blocks[at(block)];
  const double count = problem_.counts[at(candidate)];
  const double seconds = own.seconds[at(candidate)];
  if (!(seconds < kNever)) return;
  Label label = before;
  label.seconds += move + seconds;
  label.rank_seconds += held + count * seconds;
  label.link = link;
  if (!off_trunk(where) && memory_binds_) {
    label.third += own.memory.empty() ? 0 : own.memory[at(candidate)];
    if (label.third > problem_.memory_limit) return;
  }
  to.push_back(label);
}

States Walk::start(int block, Where where) {
  States states(at(k_));
  for (int k = 0; k < k_; ++k) {
    add_block({}, 0, 0, -1, block, k, where, states[at(k)]);
    record(states[at(k)], block, k);
  }
  return states;
}

States Walk::next(const Link& link, const States& from, int block, Where where, double gain,
                  std::size_t position) {
  States states(from.size());
  const LinkTable* table =
      link.plain() ? nullptr : &table_of(link, where, position, static_cast<int>(from.size()));
  const bool bounded = where == Where::kTrunk;
  const bool two = off_trunk(where) || !memory_binds_;  // no third to mind
  Labels edge(1), made;
  for (std::size_t to = 0; to < states.size(); ++to) {
    Labels& own = states[to];
    const double block_seconds = problem_.blocks[at(block)].seconds[to];
    const double block_held = block_seconds * problem_.counts[to];
    // Those that stay first: most that move are no better.
    for (std::size_t turn = 0; turn < from.size(); ++turn) {
      const std::size_t k = turn == 0 ? to : turn <= to ? turn - 1 : turn;
      if (from[k].empty()) continue;
      if (gave_up()) return states;
      if (!table) {
        edge[0].seconds =
            k == to ? 0
                    : move_seconds(problem_.near_of(static_cast<int>(k), static_cast<int>(to)),
                                   link.bytes());
        edge[0].rank_seconds = edge[0].seconds * std::max(problem_.counts[k], problem_.counts[to]);
      }
      for (const Label& between : table ? (*table)[k * at(k_) + to] : edge) {
        made.clear();
        // Of `own`, how many are at or before the label in seconds.
        const double earliest = from[k].front().seconds + between.seconds + block_seconds;
        auto known = static_cast<std::size_t>(
            std::partition_point(own.begin(), own.end(),
                                 [&](const Label& l) { return l.seconds <= earliest; }) -
            own.begin());
        for (const Label& before : from[k]) {
          const double seconds = before.seconds + between.seconds + block_seconds;
          const double held = before.rank_seconds + between.rank_seconds + block_held;
          if (two) {
            while (known < own.size() && own[known].seconds <= seconds) ++known;
            if (known > 0 && own[known - 1].rank_seconds <= held) continue;
          }
          if (bounded && !bounds_->useful(least_.behind(position, to), seconds, held)) continue;
          Label sum = before;
          sum.third += between.third;
          add_block(sum, between.seconds, between.rank_seconds, between.before, block,
                    static_cast<int>(to), where, made);
        }
        made_ += static_cast<std::int64_t>(made.size());
        if (two)
          merge_best(own, made);
        else
          own.insert(own.end(), made.begin(), made.end());
      }
    }
    if (!two || gain > 0) keep_best(own, gain);
    record(own, block, static_cast<int>(to));
  }
  return states;
}

States Walk::trunk(double gain, const std::vector<KnownPlan>& known) {
  bounds_.emplace(least_.weights(), known);
  gain_ = gain;
  std::erase_if(tables_,
                [](const auto& own) { return std::get<Where>(own.first) == Where::kTrunk; });
  States states = start(chain_.blocks.front(), Where::kTrunk);
  for (std::size_t i = 0; i < chain_.links.size(); ++i)
    states = next(chain_.links[i], states, chain_.blocks[i + 1], Where::kTrunk, gain, i + 1);
  return states;
}

}  // namespace nereus::burst
