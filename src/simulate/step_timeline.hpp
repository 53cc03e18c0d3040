// A simulated step as a timeline: every simulated team has a process per pipeline rank, with lanes
// for passes, messages and reduction, arrows from messages to the passes that wait for them, the
// memory that the rank holds, and a mark for the step.
//
//   write_chrome_trace("step.json", to_timeline(work, step));
#pragma once

#include "simulate/step.hpp"
#include "timeline/timeline.hpp"

namespace nereus::simulate {

timeline::SliceKind slice_kind(Pass pass);

// Includes at most `most_teams` teams: the first ones.
timeline::Timeline to_timeline(const cost::StepWork& work, const SimulatedStep& step,
                               int most_teams = 64);

// Only the passes, for drawings: a lane per pipeline rank of the slowest team.
timeline::Timeline passes_of(const SimulatedStep& step);

}  // namespace nereus::simulate
