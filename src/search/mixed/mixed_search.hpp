// The best plan of a model on a cluster of several kinds of machine: data parallelism with uneven
// samples and state (search/mixed/flat_plan.hpp) and pipelines across kinds
// (search/mixed/mixed_pipeline.hpp), all judged by the same predictor
// (predict/general/general_predictor.hpp).
//
//   MixedResult r = search(model, cluster, basis, {.global_batch = 64});
//   r.plans[0].prediction.step;        // best first, one of each family; empty where nothing fits
//   r.bound;                           // seconds that no plan of these devices can beat
//   r.baselines;                       // what simple rules give, under the same predictor
//
// Given a family's candidate (degrees, recompute, what is divided) samples and layers are exact for
// the time of the slowest team or stage; among candidates every one is tried, or left out because
// its bound is above the best plan found. What is not searched: teams of different tensor degree in
// one stage, stages of different width, schedules other than 1F1B. So the answer is the best of
// that space but for how a step adds communication to the slowest team's time; `bound` says how far
// any other plan could be ahead.
//
// The answer does not depend on the order of the groups, nor on whether equal nodes are written as
// one group or several (search/mixed/canonical.hpp).
//
// The baselines are members of the space or are added to it, so no plan is slower than one of them
// that fits.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "search/mixed/flat_plan.hpp"
#include "search/mixed/mixed_pipeline.hpp"

namespace nereus::mixed {

// A plan from elsewhere that enters the contest: ranks as canonical(cluster) has them
// (search/mixed/canonical.hpp).
struct KnownPlan {
  std::string family{};
  plan::Placement placement{};
};

struct MixedOptions {
  int global_batch = 1;
  cluster::Precision precision = cluster::Precision::kBf16;
  double headroom = 0;
  std::vector<int> tensor_degrees{};         // empty: 1, 2, 4, 8, ... up to a node and max_tp
  int max_tp = 0;                            // 0 = no limit
  std::vector<int> micro_batches{};          // of pipelines; empty: 1, 2, 4, ... 32
  std::vector<int> zero{};                   // empty: 0 to 3
  std::vector<plan::Recompute> recompute{};  // empty: all
  std::vector<KnownPlan> known{};            // judged like all others
  bool flat = true;
  bool pipelines = true;
  // Seconds: plans that take longer are not looked for. Where there is one, the rules of thumb are
  // not tried for comparison.
  double limit = std::numeric_limits<double>::infinity();
  std::function<bool()> stop{};
  std::function<void(std::int64_t, std::int64_t, std::optional<double>)> progress{};
};

struct MixedPlan {
  std::string family{};  // "data parallel", "pipeline", "even split", ...
  plan::Placement placement{};
  cost::Prediction prediction{};
};

struct MixedResult {
  std::vector<MixedPlan> plans{};      // best first
  std::vector<MixedPlan> baselines{};  // those that fit
  double bound = 0;
  std::int64_t space = 0;      // candidates
  std::int64_t evaluated = 0;  // placements predicted
  std::int64_t pruned = 0;     // candidates whose bound was above the best
  std::int64_t left_out = 0;   // candidates that were not looked at, after many that were no better
  bool every = true;  // all numbers of teams and orders of groups are in the space (counts.hpp,
                      // stage_shapes.hpp)
  std::int64_t too_much_memory = 0;
  bool complete = true;
};

MixedResult search(const model::Model& model, const cluster::Cluster& cluster,
                   const cost::Basis& basis, const MixedOptions& options);

// MixedResult::bound alone.
double least_step(const model::Model& model, const cluster::Cluster& cluster,
                  const cost::Basis& basis, const MixedOptions& options);

}  // namespace nereus::mixed
