// The best regular plans of a model on a uniform cluster, exactly: every candidate of the space
// (search/regular/space.hpp) is either predicted, or pruned for a reason that cannot prune the
// best.
//
//   SearchResult result = search(model, clusters, basis, choices, {.top = 5});
//   result.plans[0].degrees;                       // empty if no candidate fits
//
// What is pruned:
//   - families (layout, micro-batch, sequence parallelism) and schedules whose bound
//     (predict/predictor_bound.cpp) is above the worst plan worth keeping;
//   - dominated candidates, which take at least as long and have no advantage: more recompute or
//     offload if a plan with less already fits, and is not slowed down by nearly full memory;
//     communication without overlap if overlap is allowed.
//
// Per layout (devices, tp, pp, ep) only the best plan is kept, so that the list does not show
// variants of the same layout. With several objectives the Pareto front is kept instead: every plan
// for which no other is better in one objective and not worse in the others.
//
// Families are evaluated in the order of their bounds, in waves of a fixed size; families of a
// wave are compared only with the results of earlier waves. So the answer and all counts are the
// same for any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "predict/predictor.hpp"
#include "search/regular/objective.hpp"
#include "search/regular/space.hpp"

namespace nereus::search {

struct SearchOptions {
  std::vector<Objective> objectives = {Objective::kTime};  // several: the Pareto front
  int top = 5;                                             // layouts kept, with one objective
  double headroom = 0;                                     // share of device memory left free
  // Less than `headroom`: of the plans that leave this much but not `headroom`, one is remembered.
  double least_headroom = 1;
  // Limit for the first objective: candidates whose bound is above the limit are skipped. So the
  // plans found above the limit need not be the best.
  double limit = std::numeric_limits<double>::infinity();
  int threads = 0;  // 0 = all cores
  // Whether SearchResult::space and pruned are needed: counting takes a fifth of the time.
  bool counts = true;
  // A further condition for plans (such as: an engine can express it). Only called for plans that
  // fit and would be kept. Called from several threads.
  std::function<bool(const plan::Degrees&)> accept;
  std::function<bool()> stop;  // polled; true ends the search
  // Number of candidates done and total, and the best value so far; called from one thread.
  std::function<void(std::int64_t, std::int64_t, std::optional<double>)> progress;
};

struct Candidate {
  int cluster = 0;  // index into the clusters searched
  plan::Degrees degrees;
  cost::Prediction prediction;
  std::array<double, kNumObjectives> values{};
};

struct SearchResult {
  std::vector<Candidate> plans;  // best first; a front in the order of its first objective
  std::int64_t space = 0;        // number of candidates, without duplicates (space.hpp)
  std::int64_t evaluated = 0;
  std::int64_t pruned = 0;           // space - evaluated, if the search was not stopped
  std::int64_t too_much_memory = 0;  // evaluated candidates that do not fit into device memory
  std::int64_t too_much_beyond = 0;  // evaluated candidates that do not fit into their offload tier
  std::int64_t not_accepted = 0;     // candidates that fit, but that SearchOptions::accept rejected
  std::array<std::int64_t, plan::kNumRules> unbuildable{};  // number of layouts, by rule
  // The shortest step of the plans that fail only for lack of memory; 0 if there was none. Exact if
  // it is below the best step, since no candidate that fast is pruned.
  double beyond = 0;
  // A plan faster than most that leaves `least_headroom`, but not `headroom`: the fastest of those
  // predicted. None faster than the best plan is pruned, unless it needs more offload or recompute.
  std::optional<Candidate> left_out;
  // If no plan fits: the plan that lacks the least memory.
  std::optional<Candidate> nearest;
  bool complete = true;  // false if the search was stopped
};

// `clusters` must be uniform, for example different sizes of one kind of machine.
SearchResult search(const model::Model& model, const std::vector<cluster::Cluster>& clusters,
                    const cost::Basis& basis, const Choices& choices, const SearchOptions& options);

}  // namespace nereus::search
