// What a little more of each resource buys at one point, and what it may cost.
//
// Sensitivity: the step with `factor` times the resource, all else as it is; once with the plan
// kept, which is what `predict` says of it, once with the best plan then.
//
// Surplus: memory beyond what the best plan needs buys nothing. With less than it needs the plan no
// longer fits.
//
// Break-even: a resource that shortens the job from t0 to t1 pays for itself up to
//
//   unit price = (usd0 t0 / t1 - usd1) / (more of it x devices)
//
// with usd0 what the machines cost a second with less of it, and usd1 with more of it but for its
// price (electricity may differ). At that price both jobs cost the same.
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
  double value = 0;       // here
  double changed = 0;     // kMore times that
  double step = 0;        // here, seconds
  double same_plan = 0;   // then, with the plan kept; 0 where it no longer fits
  double best_plan = 0;   // then, with the best plan
  plan::Degrees degrees;  // which is this
  double surplus = 0;     // bytes that buy nothing; memory only
};

std::vector<Sensitivity> sensitivities(Explorer& explorer, const Study& study,
                                       const Answer& answer);

struct BreakEven {
  Axis axis = Axis::kPeak;
  double from = 0;  // amounts, of one device
  double to = 0;
  std::optional<double> time_from;  // of the job, seconds; nothing where no plan fits
  std::optional<double> time_to;
  // $ per second for one SI unit on one device; nothing where no price is known, or where without
  // it nothing fits.
  std::optional<double> unit_usd_per_s;
  bool needed = false;  // nothing fits without it
};

// Of each resource that is an axis: from its least amount to each of the others, the other axes as
// they are at `answer`.
std::vector<BreakEven> break_evens(Explorer& explorer, const Study& study, const Answer& answer);

}  // namespace nereus::explore
