// A simulated step as a timeline: for every team that was played a process per pipeline rank, with
// lanes for passes, messages and reduction, arrows from messages to the passes that wait for them,
// the memory that the rank holds, and the step as a mark.
//
//   write_chrome_trace("step.json", to_timeline(work, step));
#pragma once

#include "simulate/step.hpp"
#include "timeline/timeline.hpp"

namespace nereus::simulate {

timeline::SliceKind slice_kind(Pass pass);

// Of at most so many teams: the first ones.
timeline::Timeline to_timeline(const cost::StepWork& work, const SimulatedStep& step,
                               int most_teams = 64);

// Of the passes alone, for drawings: a lane per pipeline rank of the slowest team.
timeline::Timeline passes_of(const SimulatedStep& step);

}  // namespace nereus::simulate
