// Simulates the passes of a regular plan (predict/played.hpp), and decides when no simulation is
// needed.
//
// A simulation (schedule/clock.hpp) takes microseconds, and is mostly not needed. If backward
// passes are whole, a lower and an upper bound of the passes' time are known (schedule/bounds.hpp).
// The last pass of the step is the first stage's backward pass, B_0. So the simulated time S, which
// includes the exposed reduction, is between
//   the lower bound + max(5 % R_0, R_00 - o B_0)  and
//   the upper bound + max(5 % R, R - R' - o B_0, R - o L)
//       R_0 = reduction of the first rank, R_00 = part of R_0 for its first stage, R = the longest
//       reduction of any rank, R' = the shortest over ranks for all chunks but the last, o = share
//       of compute that a reduction can use, L = the least time that a rank runs from its last
//       chunk's last backward pass on
// and S is at least m T_0 + R_0 - o L_0, where T_0 and L_0 are those of the first rank. If the
// closed form is near both bounds, it is near the simulated time. Schedules that split the backward
// pass, and Varuna, have no such upper bound. After a simulation, its result is used as both
// bounds: settings that share the simulation and differ only in R mostly need no other one.
//
//   PlanPasses& passes = plan_passes(tables, kinds, plain, stages, shape, degrees);
//   if (!is_near(formula, passes, reduction, copies))
//     near_play(formula, play(passes, plain, degrees, overlap, tables), passes.near, copies,
//               passes.alike);
#pragma once

#include "predict/plan_shape.hpp"
#include "predict/played.hpp"
#include "predict/predictor_tables.hpp"

namespace nereus::cost {

// Tolerance for rounding: a simulation adds many passes one by one, its bounds do not.
inline constexpr double kPlayRounding = 1e-11;

// Whether the plan copies state or activations to and from an offload tier in every micro-batch.
bool copies_state(const plan::Degrees& degrees);

// `layers` and `times` of all classes must be filled in `tables`. The result is valid until the
// next call.
PlanPasses& plan_passes(Tables& tables, const KindRow* kinds, const KindRow* plain,
                        const StageTable& stages, const PlanShape& shape,
                        const plan::Degrees& degrees);
// Whether the closed form is near enough to need no simulation.
bool is_near(const ClosedForm& formula, const PlanPasses& passes, const StepReduction& reduction,
             bool copies);
// A lower bound of the pipeline's time, before any simulation.
double near_floor(double formula, const PlanPasses& passes, const StepReduction& reduction,
                  bool copies);
// S of a plan whose passes are known. `reduces` of all classes must be filled in `tables`.
double play(PlanPasses& passes, const KindRow* plain, const plan::Degrees& degrees, double overlap,
            Tables& tables);

// A lower bound of the simulated time of a plan with any recompute: `times` in `tables` must be
// those of its stages without recompute.
double least_play(const Tables& tables, const KindRow* kinds, const StageTable& stages,
                  const PlanShape& shape, const plan::Degrees& degrees);

}  // namespace nereus::cost
