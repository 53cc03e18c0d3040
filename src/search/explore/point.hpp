// The answer of one point of a study: the best strategy on its cluster, exactly.
//
//   Explorer explorer(study);                      // one a thread; keeps what points share
//   PointResult r = explorer.evaluate(point);
//   if (r.status == Status::kFound) r.found.front().step;
//
// Spaces of few strategies are predicted one and all; larger ones are searched as `plan` does
// (search/regular/regular_search.hpp). Where energy counts, the front of time and energy is kept,
// since the quickest plan need not be the one that draws least; else one plan is the best in every
// goal.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "predict/predictor.hpp"
#include "search/explore/binding.hpp"
#include "search/explore/study.hpp"

namespace nereus::explore {

enum class Status {
  kFound,
  kNothingFits,    // no strategy fits into memory
  kNothingBuilds,  // no strategy of the space can be built on so many devices
  kNoCluster,      // devices do not fill whole nodes, or the model cannot be built
  kExcluded,       // beyond a constraint of the study
};
inline constexpr int kNumStatuses = 5;
std::string_view to_string(Status status);

struct Found {
  plan::Degrees degrees;
  double step = 0;    // seconds
  double busy = 0;    // of them a device computes
  double memory = 0;  // bytes on the fullest rank
  double mfu = 0;
  double intensity = 0;     // FLOP per byte
  double memory_bound = 0;  // share of compute
  Resource binding = Resource::kCompute;
  GoalValues values{};  // of the job; 0 where not known
  bool operator==(const Found&) const = default;
};

struct PointResult {
  Status status = Status::kNoCluster;
  std::int64_t strategies = 0;  // of the space
  std::int64_t evaluated = 0;   // the others are cut by a bound
  double beyond = 0;            // quickest step that lacks memory, where that is quicker; else 0
  std::vector<Found> found;     // best first
  bool operator==(const PointResult&) const = default;
};

// A layout with its quickest plan.
struct LayoutStep {
  plan::Degrees degrees;
  double step = 0;
  bool fits = false;
};

class Explorer {
 public:
  explicit Explorer(const Study& study);
  ~Explorer();
  Explorer(Explorer&&) noexcept;

  PointResult evaluate(std::int64_t point);
  // The same on any cluster: sensitivities ask of some that are not in the grid. `machine` says the
  // stack, and what prices are counted from.
  PointResult evaluate(int variant, int machine, const cluster::Cluster& cluster);

  // And whatever the constraints of the study.
  PointResult evaluate_unlimited(int variant, int machine, const cluster::Cluster& cluster);

  // The plan of the space that needs least memory, fits or not; nothing where none can be built.
  struct Lean {
    plan::Degrees degrees;
    double memory = 0;
    double capacity = 0;
  };
  std::optional<Lean> leanest(int variant, int machine, const cluster::Cluster& cluster);

  // One plan on one cluster, as `predict` has it.
  cost::Prediction predict(int variant, int machine, const cluster::Cluster& cluster,
                           const plan::Degrees& degrees) const;

  // The best of each layout (tp, pp, cp, ep), quickest first: of spaces that are predicted whole
  // all, those that do not fit included; of larger ones the best `top` that fit.
  std::vector<LayoutStep> layouts(int variant, int machine, const cluster::Cluster& cluster,
                                  int top);

 private:
  struct KnownSpace;
  struct Spaces;
  const KnownSpace& known_space(int variant, const cluster::Cluster& cluster);
  PointResult evaluate(int variant, int machine, const cluster::Cluster& cluster,
                       const Constraints& limits);

  const Study& study_;
  std::unique_ptr<Spaces> spaces_;
};

// What a plan is worth in the goals of the study.
GoalValues goal_values(const Variant& variant, const Running& running, int devices, double step,
                       double busy);
// Whether any constraint on results forbids them.
bool within(const Constraints& constraints, const GoalValues& values);

}  // namespace nereus::explore
