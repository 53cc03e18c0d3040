// How a plan stands against all others on the same machines: why it won, or what beats it, and what
// a little more hardware would buy.
//
//   if (std::optional<Contest> c = contest(prediction)) c->rival.prediction.step;
//
// The planner looks again at the plan's model, batch, precision, stack and cluster over its whole
// derived space (search/regular/space.hpp). Each gain is of the best plan on the changed machine
// over the best on this one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/predict/predict_plan.hpp"
#include "search/regular/regular_search.hpp"

namespace nereus::app {

// One change of the hardware.
struct Gain {
  std::string what;       // "1 GiB more memory on each device"
  double same_plan = 0;   // step of this plan, seconds
  double best_plan = 0;   // of the best plan then
  plan::Degrees degrees;  // which is this
};

struct Contest {
  bool is_best = false;                      // no other layout predicts quicker
  std::optional<PredictAnswer> rival;        // the best of the other layouts that fit
  std::optional<PredictAnswer> same_layout;  // quicker with this layout, where there is one
  std::int64_t space = 0;
  double best_step = 0;  // of all of them, this plan's included
  std::vector<Gain> gains;
};

// Nothing where the plan is not regular or its cluster is mixed.
std::optional<Contest> contest(const PredictAnswer& plan);

}  // namespace nereus::app
