#include "search/burst/front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "base/error.hpp"
#include "search/burst/walk.hpp"

namespace nereus::burst {

namespace {

constexpr double kSmallGain = 1e-2;  // share of rank-seconds, in the first walk
constexpr double kNever = std::numeric_limits<double>::infinity();

Labels joined(const States& states) {
  Labels all;
  for (const Labels& own : states) all.insert(all.end(), own.begin(), own.end());
  keep_best(all);
  return all;
}

// Where every block of a plan runs, by its steps.
class Places {
 public:
  Places(const Walk& walk, const Reduced& reduced, std::size_t num_blocks)
      : walk_(walk), reduced_(reduced), places_(num_blocks) {}

  std::vector<BlockPlace> of(int last) {
    visit(last, 0);
    return places_;
  }

 private:
  void visit(int index, int first_rank) {
    for (; index >= 0; index = walk_.step(index).before) {
      const Step& own = walk_.step(index);
      if (own.block >= 0)
        for (const int member : reduced_.members[static_cast<std::size_t>(own.block)])
          places_[static_cast<std::size_t>(member)] = {own.candidate, first_rank};
      if (own.link >= 0) visit(own.link, own.away ? free_rank(index) : first_rank);
    }
  }
  // Behind the trunk's ranks and those of the link's other branches that left.
  int free_rank(int index) const {
    int first = reduced_.problem.trunk_ranks;
    for (int i = walk_.step(index).before; i >= 0; i = walk_.step(i).before)
      if (walk_.step(i).away) first += widest(walk_.step(i).link);
    return first;
  }
  int widest(int index) const {
    int most = 0;
    for (; index >= 0; index = walk_.step(index).before) {
      const Step& own = walk_.step(index);
      if (own.block >= 0)
        most = std::max(most, reduced_.problem.counts[static_cast<std::size_t>(own.candidate)]);
      if (own.link >= 0) most = std::max(most, widest(own.link));
    }
    return most;
  }

  const Walk& walk_;
  const Reduced& reduced_;
  std::vector<BlockPlace> places_;
};

double least_memory(const Problem& problem) {
  double sum = 0;
  for (const Block& block : problem.blocks)
    if (!block.memory.empty()) sum += *std::min_element(block.memory.begin(), block.memory.end());
  return sum;
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
        throw_input_error("burst.no-time",
                          fmt::format("{} takes {} s: a time of 0 would make it free on any number "
                                      "of ranks",
                                      block.name, seconds),
                          {}, "a profile that has the layer, or none, so that it is modelled");
  }
}

// All that is not behind the plans of `others`; none where it takes too long, since memory binds.
std::optional<Front> solve_exactly(const Reduced& reduced, std::size_t num_blocks,
                                   const Front& others, std::int64_t most_labels) {
  Walk walk(reduced.problem, reduced.chain, most_labels);
  std::vector<KnownPlan> known = walk.plans();
  for (const BurstPlan& own : others.plans) known.push_back({own.seconds, own.rank_seconds});
  for (const Label& own : joined(walk.trunk(kSmallGain, known)))
    known.push_back({own.seconds, own.rank_seconds});
  const States last = walk.gave_up() ? States{} : walk.trunk(0, known);
  if (walk.gave_up()) return std::nullopt;

  Front front;
  for (const Label& label : joined(last)) {
    // Bytes are no goal: of equal rank-seconds the fastest.
    if (!front.plans.empty() && label.rank_seconds >= front.plans.back().rank_seconds) continue;
    front.plans.push_back({label.seconds, label.rank_seconds, label.third,
                           Places(walk, reduced, num_blocks).of(label.before)});
  }
  front.labels = walk.labels();
  return front;
}

// The better of both, plan by plan.
Front merged(Front a, Front b) {
  a.labels += b.labels;
  a.gap = std::max(a.gap, b.gap);
  a.notes.insert(a.notes.end(), b.notes.begin(), b.notes.end());
  for (BurstPlan& own : b.plans) a.plans.push_back(std::move(own));
  std::stable_sort(a.plans.begin(), a.plans.end(), [](const BurstPlan& x, const BurstPlan& y) {
    return std::tie(x.seconds, x.rank_seconds) < std::tie(y.seconds, y.rank_seconds);
  });
  double least = kNever;
  std::erase_if(a.plans, [&](const BurstPlan& own) {
    const bool worse = own.rank_seconds >= least;
    least = std::min(least, own.rank_seconds);
    return worse;
  });
  return a;
}

// On the trunk's fullest rank; where branches have ranks of their own, on theirs if that is more.
double memory_of(const Problem& problem, const BurstPlan& plan) {
  double trunk = 0, away = 0;
  for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
    const std::vector<double>& memory = problem.blocks[i].memory;
    if (memory.empty()) continue;
    if (plan.blocks[i].first_rank > 0)
      away += *std::max_element(memory.begin(), memory.end());
    else
      trunk += memory[static_cast<std::size_t>(plan.blocks[i].candidate)];
  }
  return std::max(trunk, away);
}

// The first candidate from which on every plan fits.
int first_that_fits(const Problem& problem) {
  const int k = problem.num_candidates();
  std::vector<double> most(problem.blocks.size(), 0);
  int first = k;
  for (int c = k - 1; c >= 0; --c) {
    double sum = 0;
    for (std::size_t i = 0; i < most.size(); ++i) {
      const std::vector<double>& memory = problem.blocks[i].memory;
      if (!memory.empty()) most[i] = std::max(most[i], memory[static_cast<std::size_t>(c)]);
      sum += most[i];
    }
    if (sum > problem.memory_limit) break;
    first = c;
  }
  return first;
}

Problem without_first(const Problem& problem, int num) {
  Problem out = problem;
  const auto n = static_cast<std::ptrdiff_t>(num);
  const auto drop = [&](auto& list) { list.erase(list.begin(), list.begin() + n); };
  drop(out.counts);
  for (Block& block : out.blocks) {
    drop(block.seconds);
    if (!block.memory.empty()) drop(block.memory);
  }
  for (const auto moves : {&Problem::near, &Problem::away}) {
    (out.*moves).clear();
    const int k = problem.num_candidates();
    for (int a = num; a < k; ++a)
      for (int b = num; b < k; ++b)
        (out.*moves).push_back((problem.*moves)[static_cast<std::size_t>(a * k + b)]);
  }
  return out;
}

// How much dearer, at most, the best of `plans` within a time is than the best that any plan can
// be.
double gap_of(const std::vector<BurstPlan>& plans, const std::vector<BurstPlan>& bound) {
  double gap = 0, least = kNever;
  std::size_t next = 0;
  for (const BurstPlan& any : bound) {
    for (; next < plans.size() && plans[next].seconds <= any.seconds * (1 + 1e-12); ++next)
      least = std::min(least, plans[next].rank_seconds);
    // Where none is as fast: the fastest there is.
    const double ours = next > 0 || plans.empty() ? least : plans.front().rank_seconds;
    gap = std::max(gap, ours / any.rank_seconds - 1);
  }
  return gap;
}

Front solve_free(Problem problem) {
  problem.memory_limit = kNever;
  const Reduced reduced = reduce(problem);
  std::optional<Front> front = solve_exactly(reduced, problem.blocks.size(), {}, kMostLabels);
  NEREUS_CHECK(front.has_value(), "without memory the front is exact");
  return *std::move(front);
}

// See front.hpp: exact where plans without memory fit, and elsewhere within a gap.
Front solve_within_memory(const Problem& problem) {
  Front bound = solve_free(problem);
  Front front;
  front.labels = bound.labels;
  for (BurstPlan& own : bound.plans) own.memory = memory_of(problem, own);
  for (const BurstPlan& own : bound.plans)
    if (own.memory <= problem.memory_limit) front.plans.push_back(own);
  const std::size_t proven = front.plans.size();
  const int first = first_that_fits(problem);
  if (first < problem.num_candidates() &&
      problem.counts[static_cast<std::size_t>(first)] <= problem.trunk_ranks) {
    Front wide = solve_free(without_first(problem, first));
    for (BurstPlan& own : wide.plans) {
      for (BlockPlace& place : own.blocks) place.candidate += first;
      own.memory = memory_of(problem, own);
    }
    front = merged(std::move(front), std::move(wide));
  }
  front.gap = gap_of(front.plans, bound.plans);
  if (front.gap > 0 && !front.plans.empty())
    front.notes.push_back(fmt::format(
        "memory binds, and not all plans could be compared: {} of {} are the best there are, and "
        "no "
        "plan that is as fast as one of these has more than {:.2g} % fewer rank-seconds",
        proven, front.plans.size(), 100 * front.gap / (1 + front.gap)));
  return front;
}

Front solve_reduced(const Reduced& reduced, const Problem& problem, const Front& others,
                    std::int64_t most_labels) {
  if (std::optional<Front> front =
          solve_exactly(reduced, problem.blocks.size(), others, most_labels))
    return *std::move(front);
  Problem same = problem;
  same.trunk_ranks = reduced.problem.trunk_ranks;
  return solve_within_memory(same);
}

bool has_branches(const Chain& chain) {
  return std::any_of(chain.links.begin(), chain.links.end(), [](const Link& link) {
    return std::count_if(link.branches.begin(), link.branches.end(),
                         [](const Branch& b) { return !b.edge(); }) > 1;
  });
}

}  // namespace

Front solve(const Problem& problem, std::int64_t most_labels) {
  check_candidates(problem);
  Reduced reduced = reduce(problem);
  Front front;
  if (problem.trunk_ranks > 0) {
    front = solve_reduced(reduced, problem, {}, most_labels);
  } else {
    reduced.problem.trunk_ranks = std::min(problem.num_ranks, problem.counts.back());
    front = solve_reduced(reduced, problem, {}, most_labels);
    if (reduced.problem.trunk_ranks == problem.num_ranks && problem.num_ranks > 1 &&
        has_branches(reduced.chain)) {
      reduced.problem.trunk_ranks = problem.num_ranks / 2;
      Front more = solve_reduced(reduced, problem, front, most_labels);
      front = merged(std::move(front), std::move(more));
    }
  }
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
    const int from = candidates[static_cast<std::size_t>(edge.from)];
    const int to = candidates[static_cast<std::size_t>(edge.to)];
    if (from == to) continue;
    const double seconds = move_seconds(problem.near_of(from, to), edge.bytes);
    out.seconds += seconds;
    out.rank_seconds += seconds * std::max(problem.counts[static_cast<std::size_t>(from)],
                                           problem.counts[static_cast<std::size_t>(to)]);
  }
  return out;
}

}  // namespace nereus::burst
