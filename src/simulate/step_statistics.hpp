// Where the time of a simulated step goes: on every rank, and along the one chain of passes and
// messages that nothing could have gone without.
//
// On a rank, these add up to the step:
//   compute         passes, without what follows
//   collectives     exposed in passes: tensor, context, experts, gathering of divided weights
//   send            the rank is held up by its own messages
//   wait_input      for activations of the stage before (the pipeline fills, or a stage is slower)
//   wait_gradient   for gradients of the stage after (it drains, or a stage is slower)
//   reduction       gradient reduction after the last pass
//   wait_others     for slower teams and stages at the end
//   closing         optimizer, tied weights, host
//
// The critical path is walked from the end: every pass either started when its rank was free, then
// the pass before it comes next, or when its input arrived, then the message and its sender's pass
// do. What it is made of says what would shorten the step: compute of which rank, messages, or the
// reduction.
//
//   StepStatistics s = statistics_of(work, step);
//   s.ranks[0].wait_gradient / step.step;
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "simulate/step.hpp"

namespace nereus::simulate {

struct RankStatistics {
  int team = 0;  // index into SimulatedStep::teams
  int pipeline_rank = 0;
  int first_rank = 0;  // of the cluster
  // Seconds.
  double compute = 0;
  double collectives = 0;
  double send = 0;
  double wait_input = 0;
  double wait_gradient = 0;
  double reduction = 0;
  double wait_others = 0;
  double closing = 0;
  int peak = 0;  // micro-batches held at most, each chunk of each counted
  double peak_bytes = 0;
  double idle() const { return wait_input + wait_gradient + wait_others; }
  double communication() const { return collectives + send + reduction; }
};

enum class PathPart { kForward, kRecompute, kBackward, kWeight, kMessage, kReduction, kClosing };
inline constexpr int kNumPathParts = 7;
std::string_view to_string(PathPart part);

struct CriticalPath {
  std::array<double, kNumPathParts> seconds{};  // by PathPart; their sum is the whole
  std::vector<double> by_rank;                  // seconds of passes by pipeline rank
  int num_passes = 0;
  int num_messages = 0;
};

struct StepStatistics {
  std::vector<RankStatistics> ranks;  // of every team, by pipeline rank
  CriticalPath path;
  double bubble = 0;  // seconds: the largest over ranks of idle time between its passes
};

StepStatistics statistics_of(const cost::StepWork& work, const SimulatedStep& step);

}  // namespace nereus::simulate
