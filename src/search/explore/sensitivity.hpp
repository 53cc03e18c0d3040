// How much a little more of each resource helps at one point, and how much it may cost to be
// worthwhile.
//
// Sensitivity: the step with `factor` times the resource and everything else unchanged, once with
// the same plan (as `predict` computes it) and once with the best plan for the changed resource.
//
// Surplus: memory beyond what the best plan needs has no benefit. With less memory than it needs,
// the plan no longer fits.
//
// Break-even: a resource that shortens the job from t0 to t1 is worth its price up to
//
//   unit price = (usd0 t0 / t1 - usd1) / (additional amount per device x devices)
//
// where usd0 is the cost per second of the machines with less of the resource, and usd1 the cost
// per second with more of it, without the price of the addition (electricity may differ). At that
// unit price both jobs cost the same.
//
//   for (const Sensitivity& s : sensitivities(explorer, study, answer)) s.best_plan;
#pragma once

#include <optional>
#include <vector>

#include "search/explore/answers.hpp"
#include "search/explore/point.hpp"

namespace nereus::explore {

inline constexpr double kMore = 1.1;

struct Sensitivity {
  Axis axis = Axis::kPeak;
  double value = 0;       // at the point
  double changed = 0;     // kMore times `value`
  double step = 0;        // seconds at the point
  double same_plan = 0;   // after the change, with the same plan; 0 if it no longer fits
  double best_plan = 0;   // after the change, with the best plan
  plan::Degrees degrees;  // the best plan after the change
  double surplus = 0;     // bytes without benefit; memory only
};

std::vector<Sensitivity> sensitivities(Explorer& explorer, const Study& study,
                                       const Answer& answer);

struct BreakEven {
  Axis axis = Axis::kPeak;
  double from = 0;  // amounts per device
  double to = 0;
  std::optional<double> time_from;  // of the job, seconds; empty if no plan fits
  std::optional<double> time_to;
  // $ per second for one SI unit on one device. Empty if no price is known, or if no plan fits
  // without the addition.
  std::optional<double> unit_usd_per_s;
  bool needed = false;  // no plan fits without the addition
};

// For each resource that is an axis: from its least amount to each of its other amounts, with the
// other axes as they are at `answer`.
std::vector<BreakEven> break_evens(Explorer& explorer, const Study& study, const Answer& answer);

}  // namespace nereus::explore
