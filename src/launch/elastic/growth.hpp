// Whether a morph to more machines pays: what is gained until machines come or go again is more
// than what could be done while it lasts. The rule of simulate/job/policy.hpp, in step times:
//
//   (rate after - rate now) * lasts > rate after * morph
//   <=> (1 - step after / step now) * lasts > morph
//
//   growing_pays({.step_now = 0.4, .step_after = 0.3, .lasts = 60, .morph = 0.6});
#pragma once

namespace nereus::launch {

constexpr double kMoreJoin = 0.7;  // seconds: machines that come one after the other come together

struct Growth {
  double step_now = 0, step_after = 0;  // seconds, of one planner
  double lasts = 0;                     // seconds
  double morph = 0;                     // seconds
  double gained() const { return (1 - step_after / step_now) * lasts; }
};
inline bool growing_pays(const Growth& g) { return g.step_now > 0 && g.gained() > g.morph; }

}  // namespace nereus::launch
