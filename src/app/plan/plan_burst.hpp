// `nereus plan --burst`: a number of ranks for each layer (search/burst), where the global batch
// may not grow. The whole front of step time and rank-seconds, and one plan of it.
//
//   BurstAnswer a = plan_burst({.model = {"vgg16"}, .cluster = {"1xdgx-a100-80"}}, {});
//   a.picked().plan.seconds;
//
// Times of layers are those of the cost model, or measured where --profile has them; sums of
// gradients and moves are priced by the same functions as everywhere. Plans that are shown are also
// predicted as a whole (predict/general/general_predictor.hpp).
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
  double amplification = 0;  // most rank-seconds over those of one rank
  double yield = 1;          // of background jobs on free ranks
  double slower = 1;         // that the step may be than data parallelism, for throughput
  bool powers_of_two = false;
  bool branches_apart = false;    // branches may have ranks of their own
  std::string samples_to_target;  // with it the batch is chosen too
};

struct BurstRow {
  std::string name;  // "picked", "fastest", "data parallel", ...
  burst::BurstPlan plan;
  int ranks = 0;  // that it ever uses
  PredictAnswer predicted;
};

struct BurstAnswer {
  Inputs inputs;
  int global_batch = 0;
  cluster::Precision precision = cluster::Precision::kBf16;
  std::vector<int> counts;
  burst::Front front;
  double one_rank = 0;         // seconds
  std::vector<BurstRow> rows;  // the picked first; empty where nothing fits
  std::vector<std::string> notes;
  std::optional<TargetChoice> target;  // where the batch was chosen
  bool complete = true;  // false: stopped (request.options.stop) before all batches were looked at
  double seconds = 0;
};

// Of progress, where there are several batches, each is one.
BurstAnswer plan_burst(const PlanRequest& request, const BurstOptions& options,
                       const ProgressSink& progress = {});

}  // namespace nereus::app
