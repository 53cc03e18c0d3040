// The passes of one lane on every virtual stage, for the clock and for the simulator.
//
// A rank's time for a micro-batch is divided among its virtual stages as predict/step_work.hpp
// says. Where micro-batches differ otherwise than in a smaller last one, all count as their mean.
//
//   LanePasses passes = lane_passes(context, work, stages, lane, transfers);
//   passes.each[2].forward;                     // seconds on virtual stage 2
#pragma once

#include <vector>

#include "predict/general/reduce.hpp"
#include "predict/general/team_work.hpp"
#include "predict/general/transfers.hpp"
#include "predict/played.hpp"
#include "predict/step_work.hpp"

namespace nereus::cost::general {

struct LanePasses {
  int num_micro_batches = 1;
  std::vector<PassSeconds> each;      // by virtual stage
  std::vector<PassSeconds> last;      // of the last micro-batch where it is smaller, else empty
  std::vector<double> send;           // of its output to the next
  std::vector<double> communication;  // share of its passes in which it waits for its team
};

// Lanes that wait for each other at every layer, or hand samples over anew: one stands for all.
bool lanes_are_joint(const Context& context);
std::vector<int> ranks_of_stages(const Context& context);  // by virtual stage

// Seconds of the last of `m` micro-batches of a lane, which may be smaller than the others.
double last_seconds(const LaneTime& time, double m, bool joint);

LanePasses lane_passes(Context& context, Work& work,
                       const std::vector<std::vector<LaneTime>>& stages, std::size_t lane,
                       Transfers& transfers);

// The passes of a lane alone (predict/played.hpp), by virtual stage and summed up by physical one.
struct LaneAlone {
  std::vector<LayerTime> layers;  // by virtual stage
  std::vector<PassSeconds> stages;
  std::vector<PassSeconds> ranks;
  std::vector<ChunkWork> work;  // of ranks
};
LaneAlone lane_alone(const Context& context, Work& work, std::size_t lane);

// The closed form of the lane's pipeline and exposed reduction beside the play of its passes, as
// predict/played.hpp does for regular plans; as it is where the order of passes is not known: a
// joint lane, teams of several kinds of machine, micro-batches that differ, stages that lie on
// ranks as no order has them.
double near_play(const ClosedForm& formula, Context& context, Work& work, std::size_t lane,
                 Transfers& transfers, const Reductions& reductions, const Parameters& parameters);

}  // namespace nereus::cost::general
