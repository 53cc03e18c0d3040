// A study: which models on which clusters, with which strategies, and the goals. One point is one
// variant of a workload on one cluster; its answer is the best strategy there.
//
// Points are numbered like the digits of a number: first the variant, then the machine, then each
// axis in the order of the file; the last varies fastest:
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

// A model of one shape with its job. `settings` are the axes of the workload, such as {"layers",
// "96"}.
struct Variant {
  int workload = 0;
  std::string name;  // "megatron-1t, layers 96"
  std::vector<std::pair<std::string, std::string>> settings;
  model::Model model;
  std::string unbuildable;  // why the model cannot be built; empty = it can
  int global_batch = 0;
  cluster::Precision precision = cluster::Precision::kBf16;
  int stack = 0;       // an index; variants with equal precision and kind of model share a stack
  double samples = 0;  // in the whole job; 0 = the job is one step

  double steps() const { return samples > 0 ? samples / global_batch : 1; }
  double units_per_sample() const {  // tokens, or samples if the model has no tokens
    return model.tokens_per_sample > 0 ? model.tokens_per_sample : 1;
  }
};

// A cluster by name, before the axes are set on it.
struct StudyMachine {
  std::string name;
  cluster::Cluster cluster;
  std::string stack_name;            // empty: the usual stack for the model and the device
  std::map<int, cost::Basis> bases;  // by Variant::stack
  const cost::Basis& basis_for(const Variant& variant) const { return bases.at(variant.stack); }
};

struct StudyAxis {
  Axis axis = Axis::kNodes;
  std::vector<AxisValue> values;
};

// The plans that are allowed: the planner's space narrowed by `choices`, or an explicit list. Each
// variant sets `max_tp` and the batch of `choices`.
//
// Offload: none; to expanded memory if a cluster has it; or also to host memory.
enum class OffloadUse { kNone, kExpanded, kAny };

struct StrategySpace {
  search::Choices choices;
  OffloadUse offload = OffloadUse::kExpanded;
  std::vector<plan::Degrees> list;  // dp = 0: derived from the devices; empty list: use `choices`
  bool mp_dp = false;               // only tensor x data parallelism, as in COMET
};

enum class Goal { kTime, kMoney, kEnergy, kDevices };
inline constexpr int kNumGoals = 4;
std::string_view to_string(Goal goal);  // "time", "money", "energy", "devices"

using GoalValues = std::array<double, kNumGoals>;  // s, $ and J of the job; number of devices

// Limits; infinite if the study sets none.
struct Constraints {
  GoalValues most;  // by goal
  double watts;     // rated power of the cluster
  double usd_per_hour;
  double parameters_low, parameters_high;  // of the model
  Constraints();
};

struct Study {
  std::string name;
  std::string source;  // the path of the file
  std::string text;    // its content, as JSON
  std::vector<Variant> variants;
  std::vector<StudyMachine> machines;
  std::vector<StudyAxis> axes;
  StrategySpace strategy;
  Prices prices;
  std::vector<Goal> goals = {Goal::kTime};  // the first decides the order
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

// The machine with the axes set. Empty if the devices do not fill whole nodes.
std::optional<cluster::Cluster> cluster_at(const Study& study, const Coordinates& at);

// The value of a study's axis at these coordinates.
double axis_value(const Study& study, const Coordinates& at, std::size_t axis);
// "dgx-a100-80, 128 nodes, network bandwidth 25 GB/s": the coordinates that differ within the
// study.
std::string point_name(const Study& study, const Coordinates& at);

}  // namespace nereus::explore
