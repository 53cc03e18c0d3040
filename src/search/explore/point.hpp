// The answer for one point of a study: the best strategy on its cluster, exactly.
//
//   Explorer explorer(study);                      // one per thread; keeps what points share
//   PointResult r = explorer.evaluate(point);
//   if (r.status == Status::kFound) r.found.front().step;
//
// If a space has few strategies, all of them are predicted; larger ones are searched like `plan`
// does (search/regular/regular_search.hpp). If energy is a goal, the front of time and energy is
// kept, because the fastest plan need not use the least energy; otherwise one plan is the best in
// every goal.
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
  kNothingBuilds,  // no strategy of the space can be built on that many devices
  kNoCluster,      // devices do not fill whole nodes, or the model cannot be built
  kExcluded,       // violates a constraint of the study
};
inline constexpr int kNumStatuses = 5;
std::string_view to_string(Status status);

struct Found {
  plan::Degrees degrees;
  double step = 0;    // seconds
  double busy = 0;    // seconds of the step in which a device computes
  double memory = 0;  // bytes on the fullest rank
  double mfu = 0;
  double intensity = 0;     // FLOP per byte
  double memory_bound = 0;  // share of compute
  Resource binding = Resource::kCompute;
  GoalValues values{};  // of the job; 0 if unknown
  bool operator==(const Found&) const = default;
};

struct PointResult {
  Status status = Status::kNoCluster;
  std::int64_t strategies = 0;  // in the space
  std::int64_t evaluated = 0;   // the others were pruned by a bound
  double beyond = 0;            // fastest step of plans that only lack memory, if faster; else 0
  std::vector<Found> found;     // best first
  bool operator==(const PointResult&) const = default;
};

// A layout with its fastest plan.
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
  // Evaluates any cluster: sensitivities need clusters that are not in the grid. `machine`
  // determines the stack, and the cluster to which prices refer.
  PointResult evaluate(int variant, int machine, const cluster::Cluster& cluster);

  // Like evaluate(), without the constraints of the study.
  PointResult evaluate_unlimited(int variant, int machine, const cluster::Cluster& cluster);

  // The plan of the space with the least memory, whether it fits or not; empty if none can be
  // built.
  struct Lean {
    plan::Degrees degrees;
    double memory = 0;
    double capacity = 0;
  };
  std::optional<Lean> leanest(int variant, int machine, const cluster::Cluster& cluster);

  // Predicts one plan on one cluster, like `predict`.
  cost::Prediction predict(int variant, int machine, const cluster::Cluster& cluster,
                           const plan::Degrees& degrees) const;

  // The best plan of each layout (tp, pp, cp, ep), fastest first. Spaces that are predicted
  // completely give all layouts, including those that do not fit; larger ones give the best `top`
  // that fit.
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

// The values of a plan in the goals of the study.
GoalValues goal_values(const Variant& variant, const Running& running, int devices, double step,
                       double busy);
// Whether the values satisfy all constraints on results.
bool within(const Constraints& constraints, const GoalValues& values);

}  // namespace nereus::explore
