// How the time of a simulated step is spent: on every rank, and along the critical path of passes
// and messages.
//
// On each rank, these parts add up to the step time:
//   compute         passes, without the following parts
//   collectives     exposed in passes: tensor, context, experts, gathering of sharded weights
//   send            is blocked by its own messages
//   wait_input      waits for activations of the previous stage (fill, or a slower stage)
//   wait_gradient   waits for gradients of the next stage (drain, or a slower stage)
//   reduction       gradient reduction after the last pass
//   wait_others     waits for slower teams and stages at the end
//   closing         optimizer, tied weights, host
//
// The critical path is traced from the end. If a pass started when its rank became free, the pass
// before it on the rank is next on the path. If it started when its input arrived, the message and
// the sender's pass are next. The parts of the path show what would shorten the step: faster
// compute on a certain rank, faster messages, or a faster reduction.
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
  int team = 0;  // index in SimulatedStep::teams
  int pipeline_rank = 0;
  int first_rank = 0;  // in the cluster
  // Seconds.
  double compute = 0;
  double collectives = 0;
  double send = 0;
  double wait_input = 0;
  double wait_gradient = 0;
  double reduction = 0;
  double wait_others = 0;
  double closing = 0;
  int peak = 0;  // most micro-batches held, counted once per chunk
  double peak_bytes = 0;
  double idle() const { return wait_input + wait_gradient + wait_others; }
  double communication() const { return collectives + send + reduction; }
};

enum class PathPart { kForward, kRecompute, kBackward, kWeight, kMessage, kReduction, kClosing };
inline constexpr int kNumPathParts = 7;
std::string_view to_string(PathPart part);

struct CriticalPath {
  std::array<double, kNumPathParts> seconds{};  // by PathPart; their sum is the step
  std::vector<double> by_rank;                  // seconds of passes by pipeline rank
  int num_passes = 0;
  int num_messages = 0;
};

struct StepStatistics {
  std::vector<RankStatistics> ranks;  // of every team, by pipeline rank
  CriticalPath path;
  double bubble = 0;  // seconds: the maximum over ranks of idle time between passes
};

StepStatistics statistics_of(const cost::StepWork& work, const SimulatedStep& step);

}  // namespace nereus::simulate
