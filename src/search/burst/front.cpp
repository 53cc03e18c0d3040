#include "search/burst/front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

// All that is not behind the plans of `others`.
Front solve_reduced(const Reduced& reduced, std::size_t num_blocks, const Front& others) {
  Walk walk(reduced.problem, reduced.chain);
  std::vector<KnownPlan> known = walk.plans();
  for (const BurstPlan& own : others.plans) known.push_back({own.seconds, own.rank_seconds});
  for (const Label& own : joined(walk.trunk(kSmallGain, known)))
    known.push_back({own.seconds, own.rank_seconds});

  Front front;
  for (const Label& label : joined(walk.trunk(0, known))) {
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

bool has_branches(const Chain& chain) {
  return std::any_of(chain.links.begin(), chain.links.end(), [](const Link& link) {
    return std::count_if(link.branches.begin(), link.branches.end(),
                         [](const Branch& b) { return !b.edge(); }) > 1;
  });
}

}  // namespace

Front solve(const Problem& problem) {
  check_candidates(problem);
  Reduced reduced = reduce(problem);
  const std::size_t n = problem.blocks.size();
  Front front;
  if (problem.trunk_ranks > 0) {
    front = solve_reduced(reduced, n, {});
  } else {
    reduced.problem.trunk_ranks = std::min(problem.num_ranks, problem.counts.back());
    front = solve_reduced(reduced, n, {});
    if (reduced.problem.trunk_ranks == problem.num_ranks && problem.num_ranks > 1 &&
        has_branches(reduced.chain)) {
      reduced.problem.trunk_ranks = problem.num_ranks / 2;
      Front more = solve_reduced(reduced, n, front);
      front = merged(std::move(front), std::move(more));
    }
  }
  front.notes = reduced.notes;
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
