// A study: which models on which clusters, in which strategies, judged how. One point is one
// variant of a workload on one cluster; its answer is the best strategy there.
//
// Points are numbered like the digits of a number: variant first, then machine, then each axis in
// the order of the file, the last running fastest:
//
//   point = ((variant x machines + machine) x |axis 0| + i0) x |axis 1| + i1 ...
//
//   Study study = study_from_text(text, "study.toml");           // search/explore/study_file.hpp
//   for (std::int64_t p = 0; p < study.num_points(); ++p) {
//     Coordinates at = coordinates(study, p);
//     cluster::Cluster c = cluster_at(study, at);
//   }
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cost/basis.hpp"
#include "model/model.hpp"
#include "search/explore/axis_values.hpp"
#include "search/explore/prices.hpp"
#include "search/regular/space.hpp"

namespace nereus::explore {

// A model of one shape with its job. `settings` are the axes of the workload: {"layers", "96"}.
struct Variant {
  int workload = 0;
  std::string name;  // "megatron-1t, layers 96"
  std::vector<std::pair<std::string, std::string>> settings;
  model::Model model;
  std::string unbuildable;  // why there is no such model; empty = there is
  int global_batch = 0;
  cluster::Precision precision = cluster::Precision::kBf16;
  int stack = 0;       // variants of the same precision and kind of model share one
  double samples = 0;  // of the whole job; 0 = one step is all that is asked

  double steps() const { return samples > 0 ? samples / global_batch : 1; }
  double units_per_sample() const {  // tokens, or samples where a model has none
    return model.tokens_per_sample > 0 ? model.tokens_per_sample : 1;
  }
};

// A cluster by name, before the axes are set on it.
struct StudyMachine {
  std::string name;
  cluster::Cluster cluster;
  std::string stack_name;            // empty: what is usual for the model and the device
  std::map<int, cost::Basis> bases;  // by Variant::stack
  const cost::Basis& basis_for(const Variant& variant) const { return bases.at(variant.stack); }
};

struct StudyAxis {
  Axis axis = Axis::kNodes;
  std::vector<AxisValue> values;
};

// What a plan may be: the planner's space narrowed by `choices`, or a stated list. `max_tp` and the
// batch of `choices` are filled in for each variant.
//
// Offload: none; to expanded memory where a cluster has some; or to host memory as well.
enum class OffloadUse { kNone, kExpanded, kAny };

struct StrategySpace {
  search::Choices choices;
  OffloadUse offload = OffloadUse::kExpanded;
  std::vector<plan::Degrees> list;  // dp = 0: what the devices leave; empty: `choices`
  bool mp_dp = false;               // tensor x data parallelism alone, as COMET looks at it
};

enum class Goal { kTime, kMoney, kEnergy, kDevices };
inline constexpr int kNumGoals = 4;
std::string_view to_string(Goal goal);  // "time", "money", "energy", "devices"

using GoalValues = std::array<double, kNumGoals>;  // s, $, J of the job; devices

// Limits; infinite where a study sets none.
struct Constraints {
  GoalValues most;  // by goal
  double watts;     // rated power of the cluster
  double usd_per_hour;
  double parameters_low, parameters_high;  // of the model
  Constraints();
};

struct Study {
  std::string name;
  std::string source;  // the file
  std::string text;    // all of it, as JSON
  std::vector<Variant> variants;
  std::vector<StudyMachine> machines;
  std::vector<StudyAxis> axes;
  StrategySpace strategy;
  Prices prices;
  std::vector<Goal> goals = {Goal::kTime};  // the first orders
  Constraints constraints;
  double headroom = 0;

  std::int64_t num_points() const;  // at most kMostPoints
};
inline constexpr std::int64_t kMostPoints = std::int64_t{1} << 62;

struct Coordinates {
  int variant = 0;
  int machine = 0;
  std::vector<int> axes;  // index of the value, by axis of the study
  bool operator==(const Coordinates&) const = default;
};

Coordinates coordinates(const Study& study, std::int64_t point);
std::int64_t point_at(const Study& study, const Coordinates& at);

// The machine with the axes set. Nothing where devices do not fill whole nodes.
std::optional<cluster::Cluster> cluster_at(const Study& study, const Coordinates& at);

// Value of a study's axis there.
double axis_value(const Study& study, const Coordinates& at, std::size_t axis);
// "dgx-a100-80, 128 nodes, network bandwidth 25 GB/s": what tells a point from the others.
std::string point_name(const Study& study, const Coordinates& at);

}  // namespace nereus::explore
