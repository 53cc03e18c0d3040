// `nereus plan --burst`: chooses a number of ranks for each layer (search/burst) with a fixed
// global batch. Returns the whole front of step time and rank-seconds, and one plan picked from it.
//
//   BurstAnswer a = plan_burst({.model = {"vgg16"}, .cluster = {"1xdgx-a100-80"}}, {});
//   a.picked().plan.seconds;
//
// Times of layers come from the cost model, or from --profile if it has them. Gradient all-reduces
// and moves use the same cost functions as elsewhere. Plans that are shown are also predicted as a
// whole (predict/general/general_predictor.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/plan/plan_verb.hpp"
#include "app/predict/samples_to_target.hpp"
#include "search/burst/burst_front.hpp"

namespace nereus::app {

enum class BurstGoal { kTime, kMoney, kThroughput, kAmplification };

struct BurstOptions {
  BurstGoal goal = BurstGoal::kTime;
  double amplification = 0;  // limit of rank-seconds relative to those of one rank
  double yield = 1;          // speed of background jobs on free ranks, relative to a whole rank
  // Factor by which the step may be slower than data parallelism, for throughput.
  double slower = 1;
  bool powers_of_two = false;
  bool branches_apart = false;    // branches may run on other ranks than the trunk
  std::string samples_to_target;  // if given, the batch is chosen too
};

struct BurstRow {
  std::string name;  // "picked", "fastest", "data parallel", ...
  burst::BurstPlan plan;
  int ranks = 0;  // number of ranks that the plan ever uses
  PredictAnswer predicted;
};

struct BurstAnswer {
  Inputs inputs;
  int global_batch = 0;
  cluster::Precision precision = cluster::Precision::kBf16;
  std::vector<int> counts;
  burst::Front front;
  double one_rank = 0;         // seconds
  std::vector<BurstRow> rows;  // the picked one first; empty if nothing fits
  std::vector<std::string> notes;
  std::optional<TargetChoice> target;  // if the batch was chosen
  bool complete = true;  // false: stopped (request.options.stop) before all batches were tried
  double seconds = 0;
};

// With several batches, `progress` counts batches.
BurstAnswer plan_burst(const PlanRequest& request, const BurstOptions& options,
                       const ProgressSink& progress = {});

}  // namespace nereus::app
