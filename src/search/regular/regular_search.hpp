// The best regular plans of a model on a uniform cluster, exactly: every candidate of the space
// (search/regular/space.hpp) is either predicted or cut by a reason that cannot cut the best.
//
//   SearchResult result = search(model, clusters, basis, choices, {.top = 5});
//   result.plans[0].degrees;                       // nothing where no candidate fits
//
// What is cut:
//   - families and schedules whose bound (predict/predictor_bound.cpp) is above the worst plan
//   worth keeping;
//   - what is dominated, that is, takes at least as long and buys nothing: more recompute or
//     offload where less fits already and memory slows nothing down; communication that is not
//     overlapped where it may be.
//
// One plan is kept for each layout (devices, tp, pp, ep): the best of it, so that the list shows
// ways to train and not variants of one. With several objectives the Pareto front is kept instead:
// every plan that no other beats in one of them without losing in another.
//
// Families are taken in the order of their bounds, a fixed number at a time; within such a wave all
// are judged by what was known before it. So the answer and all counts are the same at any number
// of threads.
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
  // Of the first objective: what cannot be below it is not looked at, and what is found above it
  // need not be the best.
  double limit = std::numeric_limits<double>::infinity();
  int threads = 0;     // 0 = all cores
  bool counts = true;  // SearchResult::space and pruned are wanted: a fifth of the time
  // What a plan must also satisfy (an engine that can express it, say); asked only of plans that
  // fit and would be kept. Called from several threads.
  std::function<bool(const plan::Degrees&)> accept;
  std::function<bool()> stop;  // asked now and then; true ends the search
  // Candidates done and to do, and the best value so far; called from one thread.
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
  std::int64_t space = 0;        // candidates whose cost can differ
  std::int64_t evaluated = 0;
  std::int64_t pruned = 0;           // space - evaluated, where the search was not stopped
  std::int64_t too_much_memory = 0;  // of those evaluated: beyond the device
  std::int64_t too_much_beyond = 0;  // beyond its memory tier
  std::int64_t not_accepted = 0;     // fit, but refused by SearchOptions::accept
  std::array<std::int64_t, plan::kNumRules> unbuildable{};  // layouts, by rule
  // The shortest step of a plan that only lacks memory; 0 where none was seen. Exact where it is
  // below the best step: nothing that could be quicker is cut.
  double beyond = 0;
  // Where no plan fits: the one that lacks least memory.
  std::optional<Candidate> nearest;
  bool complete = true;  // false where it was stopped
};

// `clusters` are uniform: sizes of one kind of machine, say.
SearchResult search(const model::Model& model, const std::vector<cluster::Cluster>& clusters,
                    const cost::Basis& basis, const Choices& choices, const SearchOptions& options);

}  // namespace nereus::search
