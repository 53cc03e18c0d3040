// Whether a morph to more machines pays off: the gain until machines join or leave again must
// exceed the work that could be done during the morph. This is the rule of simulate/job/policy.hpp,
// in terms of step times (lasts: time until machines join or leave again):
//
//   (rate after - rate now) * lasts > rate after * morph
//   <=> (1 - step after / step now) * lasts > morph
//
//   growing_pays({.step_now = 0.4, .step_after = 0.3, .lasts = 60, .morph = 0.6});
#pragma once

namespace nereus::launch {

// Growing is considered only when no machine has joined for this many seconds, so that machines
// that join shortly after one another are added by one morph.
constexpr double kMoreJoin = 0.7;

struct Growth {
  double step_now = 0, step_after = 0;  // seconds, predicted by the same planner
  double lasts = 0;                     // seconds
  double morph = 0;                     // seconds
  double gained() const { return (1 - step_after / step_now) * lasts; }
};
inline bool growing_pays(const Growth& g) { return g.step_now > 0 && g.gained() > g.morph; }

}  // namespace nereus::launch
