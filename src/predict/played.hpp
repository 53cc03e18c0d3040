// Corrects the closed form of cost/pipeline_time.hpp with a simulation of the pipeline's passes in
// their order. The closed form adds up a rank's virtual stages; if stages differ, the order of the
// passes decides.
//
//   pipeline = the closed form, but no further than kNear from the simulated time
//
// Both times include the exposed part of the gradient reduction. The simulated pipeline ends at
//   S = max over ranks r of  max(E_r + 5 % R_r, max over its stages c of s_c + (1 - o) b_c + R_c..)
//       E_r = end of its last pass, R_r = its reduction,
//       s_c = start of stage c's last backward pass, b_c = passes of the rank from then on,
//       R_c.. = reductions of stage c and of the rank's stages that finish later (one after the
//               other, with the share o of the wire while the rank computes, as in
//               simulate/reduction.hpp)
// If nothing overlaps, or weight gradients run separately, rank r ends at E_r + R_r.
//
// A rank needs T = (a^q + b^q)^(1/q) for a micro-batch, where a is the device's time and b the
// host's (cost/stage_time.hpp). A pass has its part a_j of a, and a part b_j of b according to its
// share of the rank's FLOPs (a third each for forward, input and weight gradients; recompute has
// separate host time). Without other passes it takes (a_j^q + b_j^q)^(1/q). The sum over passes is
// at least T (Minkowski), and hardly more. The simulator scales passes down so that they sum to T.
// That could make one pass longer when another gets faster; here passes are not scaled, so that
// more bandwidth never makes a step slower.
//
// If all stages are equal (passes, messages, gradients) and backward passes are whole, the closed
// form with the reduction after all passes is exact. It is then an upper limit of the pipeline's
// time: the simulation may exceed it, because passes that are not scaled sum to more than T.
//
// It is not known which passes are blocked by copies to and from an offload tier. Therefore the
// closed form of a plan with copies has no upper limit; its lower limit is the simulation without
// copies, less kNear.
//
// Closed form, passes, simulations and bounds grow with every a_j, b and R, so the pipeline's time
// does too. The exception is Varuna: its ranks choose their next pass at run time
// (schedule/varuna_clock.hpp), and a rank that waits less may choose worse. Its closed form is only
// an estimate, so the simulated time itself is used, with scaled passes as in the simulator:
// forward and backward divide the rank's time without recompute in proportion to their device
// times, and recompute is the rest.
//
//   clock.play(schedule, size, {stages, ends}, split, close);
//   near_play({formula, after}, reduced_end({close.end, close.last_back, close.busy_after, share},
//                                           size, of_rank, overlap), kNear, copies, alike);
#pragma once

#include <algorithm>
#include <span>

#include "cost/data_parallel.hpp"
#include "predict/prediction.hpp"
#include "predict/stage_classes.hpp"
#include "predict/step_work.hpp"
#include "schedule/clock.hpp"

namespace nereus::cost {

// The largest allowed relative difference between the closed form and the simulation.
inline constexpr double kNear = 0.02;
inline double near_of(plan::Schedule schedule) {
  return schedule == plan::Schedule::kVaruna ? 0 : kNear;
}

struct ClosedForm {
  double seconds = 0;
  double after = 0;  // the same, with all of the reduction after the passes
};

// `near` is near_of() the schedule.
inline double near_play(const ClosedForm& formula, double play, double near, bool copies,
                        bool alike) {
  const double high = copies ? formula.seconds : std::min(formula.seconds, play * (1 + near));
  const double out = std::max(high, play / (1 + near));
  return alike ? std::min(out, formula.after) : out;
}

// The numbers of a simulation that S needs.
struct PlayedEnds {
  std::span<const double> end;                    // E, by rank
  std::span<const double> last_back, busy_after;  // s and b, by virtual stage; empty if o = 0
  std::span<const double> share;                  // by virtual stage, of its rank's gradients
};

// Returns S, as above. R_r = `of_rank(r)`; stage c has the share `share[c]` of it; o = `overlap`.
template <class OfRank>
double reduced_end(const PlayedEnds& play, const schedule::PipelineSize& size,
                   const OfRank& of_rank, double overlap) {
  double latest = 0;
  for (int rank = 0; rank < size.depth; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const double all = of_rank(rank);
    if (overlap <= 0) {
      latest = std::max(latest, play.end[r] + all);
      continue;
    }
    latest = std::max(latest, play.end[r] + kLastBucket * all);
    double reduce = 0;
    for (std::size_t stage = r; stage < play.share.size();
         stage += static_cast<std::size_t>(size.depth)) {
      reduce += all * play.share[stage];
      latest =
          std::max(latest, play.last_back[stage] + (1 - overlap) * play.busy_after[stage] + reduce);
    }
  }
  return latest;
}

// The passes of some layers, each without other passes. `work` is the work of these layers; `rank`
// and `all` are the work and the times of all layers of their rank. With `split`, weight gradients
// are a separate pass; else they count as part of `input`, as recompute does.
PassSeconds passes_alone(const LayerTime& layers, const ChunkWork& work, const ChunkWork& rank,
                         const LayerTime& all, bool split, const Machine& machine);
// The passes of a rank under Varuna, from all its layers with and without recompute.
PassSeconds varuna_passes(const LayerTime& all, const LayerTime& once, const Machine& machine);
void add(PassSeconds& sum, const PassSeconds& passes);
// The passes `alone`, scaled so that all passes of the rank (`rank`) take `total` together.
// Recompute and weight gradients are separate.
PassSeconds pass_seconds(const LayerTime& layers, const PassSeconds& alone, const PassSeconds& rank,
                         double total, bool split);

// Whether two times are equal except for rounding.
bool take_the_same(double a, double b);
bool take_the_same(const PassSeconds& a, const PassSeconds& b);

// Whether the order of the passes is known, and short enough to simulate.
bool can_play(plan::Schedule schedule, const schedule::PipelineSize& size);

// Seconds of a virtual stage's passes, as the clock needs them. `send` and `send_back` are the
// seconds of its messages in each direction. The first stages of ranks cannot overlap their first
// and last messages.
schedule::StageSeconds stage_seconds(const PassSeconds& passes, double send, double send_back,
                                     double overlap, int stage, int depth);
schedule::StageSeconds varuna_seconds(const PassSeconds& passes, double send, double send_back);
// Seconds for which the ends of the pipeline are blocked.
double end_seconds(plan::Schedule schedule, double longest_send, double overlap);

// Adds the slowest stage's time, multiplied by `times`, and the slowdown by memory pressure.
void add_stage(Prediction& out, const StageTime& slowest, double times, double memory_share,
               const Parameters& parameters);
// Adds the time that the pipeline takes beyond the work of its slowest stage: reduction, messages,
// waits.
void add_waits(Prediction& out, double more, double reduced, double sent);

}  // namespace nereus::cost
