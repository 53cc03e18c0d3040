// When the passes of a regular plan are played (predict/played.hpp), and when that is not needed.
//
// A play (schedule/clock.hpp) takes microseconds, and is mostly not needed: where backward passes
// are whole, bounds of the play are known (schedule/bounds.hpp). The step's last pass is the first
// stage's backward one, B_0, so beside these S lies between
//   max(5 % R_0, R_00 - o B_0)  and  max(5 % R, R - R' - o B_0, R - o L)
//       R_00 of the first stage, R the most of any rank, R' the least of all but a rank's last
//       chunk, L the least that a rank runs from its last chunk's last backward pass on
// and is not below m T_0 + R_0 - o L_0 of the first rank.
// Where the closed form is near both ends it is near the play. Schedules that split the backward
// pass, and Varuna, have no such bound from above. Once it was played both bounds are the play:
// settings that share it and differ in R mostly need no more.
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

// A play adds up many passes, one by one; what is known of it before it does not.
inline constexpr double kPlayRounding = 1e-11;

// Whether the plan copies state or activations to and from a memory tier in every micro-batch.
bool copies_state(const plan::Degrees& degrees);

// Asks for `layers` and `times` of all classes in `tables`. Valid until the next call.
PlanPasses& plan_passes(Tables& tables, const KindRow* kinds, const KindRow* plain,
                        const StageTable& stages, const PlanShape& shape,
                        const plan::Degrees& degrees);
// Whether the closed form needs no play.
bool is_near(const ClosedForm& formula, const PlanPasses& passes, const StepReduction& reduction,
             bool copies);
// What the pipeline is not below, whatever the play.
double near_floor(double formula, const PlanPasses& passes, const StepReduction& reduction,
                  bool copies);
// S of a plan whose passes are known. Asks for `reduces` of all classes in `tables`.
double play(PlanPasses& passes, const KindRow* plain, const plan::Degrees& degrees, double overlap,
            Tables& tables);

// What the play of a plan is not below, whatever it recomputes: `times` in `tables` are those of
// its stages without.
double least_play(const Tables& tables, const KindRow* kinds, const StageTable& stages,
                  const PlanShape& shape, const plan::Degrees& degrees);

}  // namespace nereus::cost
