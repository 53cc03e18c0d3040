// Compares a plan with all others on the same machines: why it won, or which plans beat it, and
// what a little more hardware would bring.
//
//   if (std::optional<Contest> c = contest(prediction)) c->rival.prediction.step;
//
// The planner searches the whole derived space (search/regular/space.hpp) for the plan's model,
// batch, precision, stack and cluster. Each gain compares the best plan on the changed machine with
// the best plan on the unchanged one.
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
  double same_plan = 0;   // step of this plan after the change, seconds
  double best_plan = 0;   // step of the best plan after the change
  plan::Degrees degrees;  // the best plan after the change
};

struct Contest {
  bool is_best = false;                      // no other layout is predicted to be faster
  std::optional<PredictAnswer> rival;        // the best of the other layouts that fit
  std::optional<PredictAnswer> same_layout;  // a faster plan with this layout, if there is one
  std::int64_t space = 0;
  double best_step = 0;  // over all plans of the space, including this one
  std::vector<Gain> gains;
};

// Empty if the plan is not regular, or its cluster is mixed.
std::optional<Contest> contest(const PredictAnswer& plan);

}  // namespace nereus::app
