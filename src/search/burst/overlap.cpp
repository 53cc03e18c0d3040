#include "search/burst/overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/parallel.hpp"
#include "search/burst/fronts.hpp"
#include "search/burst/neighbours.hpp"
#include "search/burst/restrict.hpp"

namespace nereus::burst {

namespace {

constexpr double kSmallGap = 1e-3;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// What a block of the problem needs in addition to its kernels.
using Shown = std::function<double(std::size_t block, std::size_t candidate)>;

// Evaluates with the plan's counts instead.
void price(const Overlapped& own, const Shown& shown, BurstPlan& plan) {
  Sums sums;
  for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
    if (plan.blocks[i].first_rank > 0) continue;
    const std::size_t k = at(plan.blocks[i].candidate);
    const int count = own.problem.counts[k];
    sums.seconds += own.sums[i][k];
    sums.rank_seconds += own.sums[i][k] * count;
    sums.hiding += own.hiding[i][k];
    plan.seconds -= shown(i, k);
    plan.rank_seconds -= shown(i, k) * count;
  }
  plan.seconds += sums.exposed();
  plan.rank_seconds += sums.exposed_held();
}

Front priced(const Overlapped& own, const Shown& shown, Front front) {
  for (BurstPlan& plan : front.plans) price(own, shown, plan);
  return merged({}, std::move(front));
}

// Returns no plans if it is stopped before there are any.
Front solved(const Problem& problem) {
  try {
    return solve(problem);
  } catch (const Stopped&) {
    Front front;
    front.least_memory = least_memory(problem);
    front.is_stopped = true;
    return front;
  }
}

Front of_part(const Overlapped& own, const Shown& first, const Shown& shown) {
  Problem problem = own.problem;
  for (std::size_t i = 0; i < problem.blocks.size(); ++i)
    for (std::size_t k = 0; k < problem.counts.size(); ++k)
      problem.blocks[i].seconds[k] += shown(i, k) - first(i, k);
  std::vector<std::size_t> some(problem.counts.size());
  std::iota(some.begin(), some.end(), std::size_t{0});
  // Only on the trunk; the first problem has the branches on other ranks.
  if (problem.trunk_ranks == 0) problem.trunk_ranks = problem.num_ranks;
  // More would cost as much as the first and find little.
  if (some.size() > kFewCounts) some = few_of(problem);
  Front front = solved(only(problem, some));
  for (BurstPlan& plan : front.plans)
    for (BlockPlace& place : plan.blocks)
      place.candidate = static_cast<int>(some[at(place.candidate)]);
  return front;
}

Front of_one_count(const Problem& problem) {
  Front front;
  for (int k = 0; k < problem.num_candidates(); ++k) {
    BurstPlan plan = evaluate(problem, std::vector<int>(problem.blocks.size(), k));
    if (plan.memory <= problem.memory_limit) front.plans.push_back(std::move(plan));
  }
  return front;
}

// In every plan, for all counts.
bool all_hides(const Overlapped& own) {
  double most = 0, least = 0;
  for (std::size_t i = 0; i < own.sums.size(); ++i) {
    most += *std::max_element(own.sums[i].begin(), own.sums[i].end());
    least += *std::min_element(own.hiding[i].begin(), own.hiding[i].end());
  }
  return most <= least;
}

void tell_gap(Front& front, bool some_counts) {
  if (front.plans.empty()) return;
  if (front.is_proven) {
    if (front.gap > 0)
      front.notes.push_back(fmt::format(
          "memory is the binding constraint and not all plans could be compared; no plan as fast "
          "as one of these uses more than {:.2g} % fewer rank-seconds",
          100 * front.gap / (1 + front.gap)));
    return;
  }
  if (front.is_stopped) {
    front.notes.push_back(
        "stopped early: only plans with one or few different rank counts, and plans close to "
        "these, were compared");
    return;
  }
  std::string note = front.gap > 0 ? "memory is the binding constraint and " : "";
  note +=
      "all-reduces overlap with the backward pass of the whole plan, so not all plans could "
      "be compared";
  if (front.time_gap && *front.time_gap < kSmallGap)
    note += "; the fastest plan is optimal, the others are the best that were found";
  else if (front.time_gap)
    note += fmt::format("; no plan is more than {:.2g} % faster than the fastest one here",
                        100 * *front.time_gap / (1 + *front.time_gap));
  if (some_counts) note += "; only some rank counts were tried on part of the machines";
  front.notes.push_back(std::move(note));
}

// Candidates of some counts, as those of all.
void renumber(Front& front, const std::vector<int>& some, const std::vector<int>& all) {
  for (BurstPlan& plan : front.plans)
    for (BlockPlace& place : plan.blocks)
      place.candidate = static_cast<int>(
          std::lower_bound(all.begin(), all.end(), some[at(place.candidate)]) - all.begin());
}

// No plan of the problem is faster; 0: unknown.
double bound_of(const Front& front) {
  if (!front.time_gap || front.plans.empty()) return 0;
  return front.plans.front().seconds / (1 + *front.time_gap);
}

Front front_of(const Overlapped& own, std::int64_t most_tried = kMostTried) {
  if (all_hides(own))
    if (Front front = solved(own.problem); !front.is_stopped) return front;
  const bool few = own.problem.counts.size() <= kFewCounts && !own.is_some;
  const std::vector<double> parts = few ? std::vector{0.25, 0.5, 0.75, 1.0} : std::vector{1.0};
  const Shown first = [&](std::size_t i, std::size_t k) { return own.exposed[k] * own.sums[i][k]; };
  const auto shown = [&](double part) -> Shown {
    return [&own, part](std::size_t i, std::size_t k) {
      return part * (own.sums[i][k] - own.hiding[i][k]);
    };
  };
  std::vector<Front> fronts(parts.size() + 1);
  parallel_for(fronts.size(), [&](std::size_t i) {
    fronts[i] = i == 0 ? solved(own.problem) : of_part(own, first, shown(parts[i - 1]));
  });
  const double least_memory = fronts[0].least_memory;
  Front front = priced(own, first, std::move(fronts[0]));
  double bound = 0;  // no plan is faster
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Front& near = fronts[i + 1];
    if (!near.plans.empty() && near.gap == 0 && !near.is_stopped)
      bound = std::max(bound, near.plans.front().seconds);
    near.notes.clear();  // the first's
    near.gap = 0;
    front = merged(std::move(front), priced(own, shown(parts[i]), std::move(near)));
  }
  front = merged(std::move(front), priced(own, first, of_one_count(own.problem)));
  front.plans = with_neighbours(own, std::move(front.plans), most_tried);
  front = merged({}, std::move(front));
  front.least_memory = least_memory;
  front.is_proven = false;
  if (front.plans.empty()) return front;
  // A bound of few counts is none for the others, nor one of the trunk for branches apart.
  const bool bounds_all = bound > 0 && few && own.problem.trunk_ranks == own.problem.num_ranks;
  front.time_gap.reset();
  if (bounds_all) front.time_gap = std::max(0.0, front.plans.front().seconds / bound - 1);
  return front;
}

}  // namespace

Front solve(const Overlapped& own) {
  Front front = front_of(own);
  tell_gap(front, own.is_some);
  return front;
}

Front solve(const std::vector<Overlapped>& problems) {
  std::vector<Front> fronts(problems.size());
  const std::int64_t share = kMostTried / static_cast<std::int64_t>(problems.size());
  parallel_for(problems.size(), [&](std::size_t i) { fronts[i] = front_of(problems[i], share); });
  Front out = std::move(fronts.front());
  const double least_memory = out.least_memory;
  double bound = bound_of(out);
  for (std::size_t i = 1; i < fronts.size(); ++i) {
    const bool bounds = !problems[i].is_part;
    if (bounds && problems[i].is_some)
      bound = 0;
    else if (bounds && !fronts[i].plans.empty())
      bound = std::min(bound, bound_of(fronts[i]));
    fronts[i].notes.clear();  // the first's
    renumber(fronts[i], problems[i].problem.counts, problems.front().problem.counts);
    out = merged(std::move(out), std::move(fronts[i]));
  }
  out.least_memory = least_memory;
  out.time_gap.reset();
  if (bound > 0) out.time_gap = std::max(0.0, out.plans.front().seconds / bound - 1);
  tell_gap(out, std::any_of(problems.begin(), problems.end(),
                            [](const Overlapped& own) { return own.is_some; }));
  return out;
}

Overlapped make_overlapped(const std::vector<BlockCosts>& blocks, const std::vector<Edge>& edges,
                           const Prices& prices, int global_batch, const std::vector<int>& counts) {
  Overlapped out;
  std::vector<double> all_sums(counts.size()), all_hiding(counts.size());
  for (const BlockCosts& own : blocks) {
    std::vector<double>& sums = out.sums.emplace_back();
    std::vector<double>& hiding = out.hiding.emplace_back();
    for (std::size_t k = 0; k < counts.size(); ++k) {
      sums.push_back(sum_seconds(own, prices, counts[k]));
      const int samples = samples_per_rank(global_batch, counts[k]);
      hiding.push_back(own.backward ? prices.overlap * own.backward(samples) : 0);
      all_sums[k] += sums.back();
      all_hiding[k] += hiding.back();
    }
  }
  for (std::size_t k = 0; k < counts.size(); ++k)
    out.exposed.push_back(all_sums[k] > 0 ? std::max(0.0, 1 - all_hiding[k] / all_sums[k]) : 0);
  out.problem = make_problem(blocks, edges, prices, global_batch, counts, out.exposed);
  return out;
}

}  // namespace nereus::burst
