// The passes of a pipeline in their order, where the closed form of cost/pipeline_time.hpp does not
// do: that takes a rank's virtual stages together, but where stages differ the order decides.
//
//   pipeline = the closed form, but no further than kNear from the play of its passes
//
// both with what they leave exposed of the gradient reduction. The play ends at
//   S = max over ranks r of  max(E_r + 5 % R_r, max over its stages c of s_c + (1 - o) b_c + R_c..)
//       E_r = end of its last pass, R_r = its reduction,
//       s_c = start of stage c's last backward pass, b_c = passes of the rank from then on,
//       R_c.. = reductions of stage c and of those that are done later (one after the other, with
//               the share o of the wire while the rank computes, as simulate/reduction.hpp)
// and at E_r + R_r where nothing overlaps or weight gradients run apart.
//
// A rank takes T = (a^q + b^q)^(1/q) for a micro-batch, a on the device and b on its host
// (cost/stage_time.hpp). A pass has its own part of a, and of b the part that it has of the rank's
// FLOPs (forward, input and weight gradients a third each; recompute has host time of its own):
// alone it takes (a_j^q + b_j^q)^(1/q), of which the sum is at least T (Minkowski) and hardly more.
// The simulator plays them scaled down to T; that would let one pass grow where another gets
// quicker, so here they are as they are: more bandwidth is never slower.
//
// Where all stages are alike (passes, messages, gradients) and backward passes whole, the closed
// form with the reduction after all passes is exact, and the most that the pipeline takes: the play
// of passes as they are may be beyond it, as they sum to more than T.
//
// Copies to and from a memory tier hold up a rank in passes that nobody can name: such a plan is
// not below the play without them, less kNear, and has no other limit.
//
// Closed form, passes, plays and bounds grow with every a_j, b and R, so the pipeline does. All but
// Varuna's: its ranks choose as they go (schedule/varuna_clock.hpp), and whoever waits less may
// choose worse. Its closed form is an estimate, so the play itself is what counts, of passes as the
// simulator has them: forward and backward divide what a rank takes without recompute as they do
// the device, and recompute is the rest.
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

// How far the closed form may be from the play.
inline constexpr double kNear = 0.02;
inline double near_of(plan::Schedule schedule) {
  return schedule == plan::Schedule::kVaruna ? 0 : kNear;
}

struct ClosedForm {
  double seconds = 0;
  double after = 0;  // the same with all of the reduction after the passes
};

// `near` is near_of() its schedule.
inline double near_play(const ClosedForm& formula, double play, double near, bool copies,
                        bool alike) {
  const double high = copies ? formula.seconds : std::min(formula.seconds, play * (1 + near));
  const double out = std::max(high, play / (1 + near));
  return alike ? std::min(out, formula.after) : out;
}

// A play as S asks for it.
struct PlayedEnds {
  std::span<const double> end;                    // by rank: E
  std::span<const double> last_back, busy_after;  // by virtual stage: s and b; empty where o = 0
  std::span<const double> share;                  // by virtual stage, of its rank's gradients
};

// S, as above; R_r = `of_rank(r)`, of which `share[c]` is stage c's; o = `overlap`.
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

// The passes of some layers alone. `work` is theirs and `rank` that of `all` layers of their rank.
// `split`: weight gradients run apart, else they count as input, as recompute does.
PassSeconds passes_alone(const LayerTime& layers, const ChunkWork& work, const ChunkWork& rank,
                         const LayerTime& all, bool split, const Machine& machine);
// Those of a rank under Varuna, from all its layers with and without recompute.
PassSeconds varuna_passes(const LayerTime& all, const LayerTime& once, const Machine& machine);
void add(PassSeconds& sum, const PassSeconds& passes);
// The same where all of its rank, `rank`, take `total` together, with recompute and weight
// gradients told apart.
PassSeconds pass_seconds(const LayerTime& layers, const PassSeconds& alone, const PassSeconds& rank,
                         double total, bool split);

// Whether they take the same but for rounding.
bool take_the_same(double a, double b);
bool take_the_same(const PassSeconds& a, const PassSeconds& b);

// Whether the order of that many passes is known and short enough to play.
bool can_play(plan::Schedule schedule, const schedule::PipelineSize& size);

// Seconds of a virtual stage's passes as the clock takes them. `send` and `send_back` are of its
// messages each way; first stages of ranks have nothing to hide their first and last ones behind.
schedule::StageSeconds stage_seconds(const PassSeconds& passes, double send, double send_back,
                                     double overlap, int stage, int depth);
schedule::StageSeconds varuna_seconds(const PassSeconds& passes, double send, double send_back);
// What holds up the ends of the pipeline.
double end_seconds(plan::Schedule schedule, double longest_send, double overlap);

// Adds what the slowest stage takes, `times` as long, and what memory pressure adds to that.
void add_stage(Prediction& out, const StageTime& slowest, double times, double memory_share,
               const Parameters& parameters);
// Adds what the pipeline takes beyond the work of its slowest stage: reduction, messages, waits.
void add_waits(Prediction& out, double more, double reduced, double sent);

}  // namespace nereus::cost
