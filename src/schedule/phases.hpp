// Schedules that run all forward passes before the backward passes (GPipe, looped BFS), in closed
// form, for stages of any length.
//
// With S virtual stages, where stage s is on rank s mod p, the last forward pass of stage s ends at
//   E(s) = max over s0 of  E(s0 - p) + sum_{s0..s} F_j + (m - 1) max_{s0..s} F_j     s0 = 0 or >= p
// (the longest path: one micro-batch from s0, all micro-batches on the slowest stage, then the last
// one to s), where F_j includes the message after it. The formula for backward passes is the same,
// counted from the last stage.
//
//   play_phases({8, 2, 64}, {stages, 0.0}, room, close);
#pragma once

#include "schedule/clock.hpp"

namespace nereus::schedule {

bool in_phases(plan::Schedule schedule);

void play_phases(const PipelineSize& size, const PipelineSeconds& times, std::vector<double>& room,
                 PipelineClose& close);

}  // namespace nereus::schedule
