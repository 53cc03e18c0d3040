// The best plan of a model on a cluster with several kinds of machine: data parallelism with uneven
// samples and state (search/mixed/flat_plan.hpp), and pipelines across kinds
// (search/mixed/mixed_pipeline.hpp). The same predictor evaluates all of them
// (predict/general/general_predictor.hpp).
//
//   MixedResult r = search(model, cluster, basis, {.global_batch = 64});
//   r.plans[0].prediction.step;        // best first, one per family; empty if nothing fits
//   r.bound;                           // seconds that no plan on these devices can beat
//   r.baselines;                       // plans of simple rules, with the same predictor
//
// For each candidate of a family (degrees, recompute, sharding), the samples or layers are chosen
// exactly for the time of the slowest team or stage. Every candidate is tried, or pruned because
// its bound is above the best plan found. The space has no teams of different tensor degree in one
// stage, no stages of different width, and no schedules other than 1F1B. The answer is the best
// plan of that space, except that communication is not part of the time by which samples and layers
// are chosen. `bound` shows how much faster any other plan could be.
//
// The answer does not depend on the order of the groups, nor on whether equal nodes are written as
// one group or several (search/mixed/canonical.hpp).
//
// The baselines are members of the space, or are added to it. So the best plan is never slower than
// a baseline that fits.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "search/mixed/flat_plan.hpp"
#include "search/mixed/mixed_pipeline.hpp"

namespace nereus::mixed {

// A plan from elsewhere that is compared with the others. Its ranks must be those of
// canonical(cluster) (search/mixed/canonical.hpp).
struct KnownPlan {
  std::string family{};
  plan::Placement placement{};
};

struct MixedOptions {
  int global_batch = 1;
  cluster::Precision precision = cluster::Precision::kBf16;
  plan::StateTypes state_types{};
  double headroom = 0;
  std::vector<int> tensor_degrees{};         // empty: 1, 2, 4, 8, ... up to a node and max_tp
  int max_tp = 0;                            // 0 = no limit
  std::vector<int> micro_batches{};          // for pipelines; empty: 1, 2, 4, ... 32
  std::vector<int> zero{};                   // empty: 0 to 3
  std::vector<plan::Recompute> recompute{};  // empty: all
  std::vector<KnownPlan> known{};            // evaluated like all others
  bool flat = true;
  bool pipelines = true;
  // Seconds: slower plans are not searched for. If it is set, the baselines are not evaluated.
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
  std::int64_t space = 0;      // number of candidates
  std::int64_t evaluated = 0;  // placements predicted
  std::int64_t pruned = 0;     // candidates whose bound was above the best plan
  std::int64_t left_out = 0;   // candidates that were skipped after many without improvement
  bool every = true;  // all numbers of teams and orders of groups are in the space (counts.hpp,
                      // stage_shapes.hpp)
  std::int64_t too_much_memory = 0;
  bool complete = true;
};

MixedResult search(const model::Model& model, const cluster::Cluster& cluster,
                   const cost::Basis& basis, const MixedOptions& options);

// Only MixedResult::bound.
double least_step(const model::Model& model, const cluster::Cluster& cluster,
                  const cost::Basis& basis, const MixedOptions& options);

}  // namespace nereus::mixed
