#include "search/burst/burst_front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/format.hpp"
#include "search/burst/branch_rules.hpp"
#include "search/burst/burst_places.hpp"
#include "search/burst/fronts.hpp"
#include "search/burst/never.hpp"
#include "search/burst/restrict.hpp"
#include "search/burst/walk.hpp"

namespace nereus::burst {

namespace {

constexpr double kSmallGain = 1e-2;  // share of rank-seconds, in the first walk
constexpr std::size_t kMany = 20;    // candidates, of which few come first
Labels joined(const States& states) {
  Labels all;
  for (std::size_t k = 0; k < states.size(); ++k)
    all.insert(all.end(), states[k].begin(), states[k].end());
  keep_best(all);
  return all;
}

void check_candidates(const Problem& problem) {
  const std::size_t k = problem.counts.size();
  NEREUS_CHECK(k > 0 && problem.near.size() == k * k && problem.away.size() == k * k,
               "a burst problem prices moves between all its candidates");
  for (const Block& block : problem.blocks) {
    NEREUS_CHECK(block.seconds.size() == k && (block.memory.empty() || block.memory.size() == k),
                 "a block of a burst problem is priced at all its candidates");
    for (const double seconds : block.seconds)
      if (!(seconds > 0))
        throw_input_error(
            "burst.no-time",
            fmt::format("{} takes {} s: a time of 0 would make it free on any number "
                        "of ranks",
                        block.name, seconds),
            {}, "a profile with its time; without one, a model without layers that do nothing");
  }
}

void add(const std::vector<BurstPlan>& plans, std::vector<KnownPlan>& to) {
  for (const BurstPlan& own : plans) to.push_back({own.seconds, own.rank_seconds});
}

Front front_of(const Walk& walk, const Reduced& reduced, std::size_t num_blocks,
               const States& last) {
  Front front;
  for (const Label& label : joined(last)) {
    // Bytes are no goal: of equal rank-seconds the fastest.
    if (!front.plans.empty() && label.rank_seconds >= front.plans.back().rank_seconds) continue;
    front.plans.push_back({label.seconds, label.rank_seconds, label.third,
                           places_of(walk, reduced, num_blocks, label.before)});
  }
  front.labels = walk.labels();
  return front;
}

// One solve: of a problem that was reduced, for plans that are not behind those of `others`.
class Solver {
 public:
  Solver(const Reduced& reduced, const Problem& given, const Front& others,
         std::int64_t most_labels)
      : reduced_(reduced), given_(given), others_(others), most_labels_(most_labels) {}

  Front solve() const {
    return memory_binds(reduced_.problem) ? within_memory() : without_memory();
  }

 private:
  // Plans of few candidates are found soon, and are nearly all there is to know before.
  std::optional<Front> of_few(const std::set<std::size_t>& also) const {
    const std::vector<std::size_t> few = few_of(reduced_.problem, also);
    if (reduced_.problem.counts.size() < kMany || few.size() == reduced_.problem.counts.size())
      return std::nullopt;
    constexpr std::int64_t kShare = 10;
    Reduced part = reduced_;
    part.problem = only(reduced_.problem, few);
    Front front = Solver(part, only(given_, few), others_, most_labels_ / kShare).solve();
    for (BurstPlan& own : front.plans)
      for (BlockPlace& place : own.blocks) place.candidate = static_cast<int>(few[place.candidate]);
    return front;
  }

  Front without_memory() const {
    Walk walk(reduced_.problem, reduced_.chain, most_labels_);
    std::vector<KnownPlan> known = walk.plans();
    add(others_.plans, known);
    std::optional<Front> few = of_few(walk.used());
    if (few)
      add(few->plans, known);
    else
      for (const Label& own : joined(walk.trunk(kSmallGain, known, {})))
        known.push_back({own.seconds, own.rank_seconds});
    try {
      Front front = front_of(walk, reduced_, num_blocks(), walk.trunk(0, known, {}));
      if (few) front.labels += few->labels;
      return front;
    } catch (const Stopped&) {
      if (!few) throw;
      few->is_stopped = true;
      return *std::move(few);
    }
  }

  // See burst_front.hpp. The front without memory is a bound: if one of its plans fits, it is
  // optimal. Labels of three numbers are for the gaps between.
  Front within_memory() const {
    const Front bound = unlimited();
    Front fitting;
    fitting.labels = bound.labels;
    fitting.is_stopped = bound.is_stopped;
    for (BurstPlan own : bound.plans) {
      own.memory = memory_of(given_, own);
      if (own.memory <= given_.memory_limit) fitting.plans.push_back(std::move(own));
    }
    if (fitting.plans.size() == bound.plans.size() || bound.is_stopped) return fitting;
    if (const std::optional<Front> few = of_few({})) {
      Front some = *few;
      some.notes.clear();
      some.gap = 0;
      fitting = merged(std::move(fitting), std::move(some));
    }
    if (std::optional<Front> rest = between(fitting, bound))
      return merged(std::move(fitting), *std::move(rest));
    return within_gap(std::move(fitting), bound);
  }

  Front unlimited() const {
    Reduced free = reduced_;
    free.problem.memory_limit = kNever;
    return Solver(free, given_, others_, most_labels_).solve();
  }

  // Plans that fit and that no known plan dominates; empty if it takes too long.
  std::optional<Front> between(const Front& fitting, const Front& bound) const {
    Walk walk(reduced_.problem, reduced_.chain, most_labels_);
    std::vector<KnownPlan> known, before;
    add(fitting.plans, known);
    add(others_.plans, known);
    add(bound.plans, before);
    if (known.empty())
      for (const Label& own : joined(walk.trunk(kSmallGain, known, before)))
        known.push_back({own.seconds, own.rank_seconds});
    if (walk.gave_up()) return std::nullopt;
    const States last = walk.trunk(0, known, before);
    if (walk.gave_up()) return std::nullopt;
    return front_of(walk, reduced_, num_blocks(), last);
  }

  // Adds the plans with counts so large that all of them fit.
  Front within_gap(Front front, const Front& bound) const {
    const int first = first_that_fits(given_);
    if (first < given_.num_candidates() && given_.counts[first] <= reduced_.problem.trunk_ranks) {
      std::vector<std::size_t> wider;
      for (int c = first; c < given_.num_candidates(); ++c)
        wider.push_back(static_cast<std::size_t>(c));
      Reduced part = reduced_;
      part.problem = only(reduced_.problem, wider);
      Front wide = Solver(part, given_, others_, most_labels_).unlimited();
      for (BurstPlan& own : wide.plans) {
        for (BlockPlace& place : own.blocks) place.candidate += first;
        own.memory = memory_of(given_, own);
      }
      front = merged(std::move(front), std::move(wide));
    }
    const Front all = merged(others_, front);
    front.gap = gap_of(all.plans, bound.plans);
    return front;
  }

  std::size_t num_blocks() const { return given_.blocks.size(); }

  const Reduced& reduced_;
  const Problem& given_;  // before it was reduced
  const Front& others_;
  std::int64_t most_labels_;
};

bool has_branches(const Chain& chain) {
  return std::any_of(chain.links.begin(), chain.links.end(), [](const Link& link) {
    return std::count_if(link.branches.begin(), link.branches.end(),
                         [](const Branch& b) { return !b.edge(); }) > 1;
  });
}

}  // namespace

Front solve(const Problem& problem, std::int64_t most_labels) {
  check_candidates(problem);
  Front front;
  front.least_memory = least_memory(problem);
  // If no branch can leave, that is the trunk's memory.
  if (problem.trunk_ranks >= problem.num_ranks && front.least_memory > problem.memory_limit)
    return front;
  Reduced reduced = reduce(problem);
  if (problem.trunk_ranks > 0) {
    front = Solver(reduced, problem, {}, most_labels).solve();
  } else {
    reduced.problem.trunk_ranks = std::min(problem.num_ranks, problem.counts.back());
    front = Solver(reduced, problem, {}, most_labels).solve();
    if (reduced.problem.trunk_ranks == problem.num_ranks && problem.num_ranks > 1 &&
        has_branches(reduced.chain)) {
      reduced.problem.trunk_ranks = problem.num_ranks / 2;
      Front more = Solver(reduced, problem, front, most_labels).solve();
      front = merged(std::move(front), std::move(more));
    }
  }
  if (const std::size_t kept = num_kept_home(reduced.problem, reduced.chain);
      kept > 0 && reduced.problem.trunk_ranks < problem.num_ranks)
    front.notes.push_back(
        fmt::format("of each set of parallel branches, the {} longest were tried on separate "
                    "ranks; {} on the ranks of the trunk",
                    kMostLeaving, counted(kept, "other branch runs", "other branches run")));
  front.notes.insert(front.notes.begin(), reduced.notes.begin(), reduced.notes.end());
  front.least_memory = least_memory(problem);
  return front;
}

BurstPlan evaluate(const Problem& problem, const std::vector<int>& candidates) {
  BurstPlan out;
  for (std::size_t i = 0; i < problem.blocks.size(); ++i) {
    const auto k = static_cast<std::size_t>(candidates[i]);
    const Block& block = problem.blocks[i];
    out.seconds += block.seconds[k];
    out.rank_seconds += block.seconds[k] * problem.counts[k];
    out.memory += block.memory.empty() ? 0 : block.memory[k];
    out.blocks.push_back({candidates[i], 0});
  }
  for (const Edge& edge : problem.edges) {
    const int from = candidates[edge.from];
    const int to = candidates[edge.to];
    if (from == to) continue;
    const double seconds = move_seconds(problem.near_of(from, to), edge.bytes);
    out.seconds += seconds;
    out.rank_seconds += seconds * std::max(problem.counts[from], problem.counts[to]);
  }
  return out;
}

}  // namespace nereus::burst
