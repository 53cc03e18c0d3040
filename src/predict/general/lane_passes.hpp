// The passes of one lane on every virtual stage, for the clock and for the simulator.
//
// A rank's time for a micro-batch is divided among its virtual stages as predict/step_work.hpp
// describes. If micro-batches differ in more than a smaller last one, every one takes their mean
// time.
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
  std::vector<PassSeconds> each;  // by virtual stage
  std::vector<PassSeconds> last;  // of the last micro-batch if it is smaller, else empty
  std::vector<double> send;       // seconds to send its output to the next stage
  // By virtual stage: share of the passes in which the lane waits for communication within its
  // team.
  std::vector<double> communication;
};

// Whether lanes wait for each other at every layer, or samples are redistributed. Then one lane
// represents all of them.
bool lanes_are_joint(const Context& context);
std::vector<int> ranks_of_stages(const Context& context);  // by virtual stage

// Seconds of the last of `m` micro-batches of a lane, which may be smaller than the others.
double last_seconds(const LaneTime& time, double m, bool joint);

LanePasses lane_passes(Context& context, Work& work,
                       const std::vector<std::vector<LaneTime>>& stages, std::size_t lane,
                       Transfers& transfers);

// The passes of a lane, each timed without the others (predict/played.hpp), by virtual stage and
// summed by physical stage.
struct LaneAlone {
  std::vector<LayerTime> layers;  // by virtual stage
  std::vector<PassSeconds> stages;
  std::vector<PassSeconds> ranks;
  std::vector<ChunkWork> work;  // by physical stage
};
LaneAlone lane_alone(const Context& context, Work& work, std::size_t lane);

// The closed form of the lane's pipeline and exposed reduction, corrected towards the simulated
// passes, as predict/played.hpp does for regular plans. It stays uncorrected if the order of passes
// is not known: for a joint lane (lanes_are_joint), teams with several kinds of machine,
// micro-batches that differ, or stages on ranks that no order supports.
double near_play(const ClosedForm& formula, Context& context, Work& work, std::size_t lane,
                 Transfers& transfers, const Reductions& reductions, const Parameters& parameters);

}  // namespace nereus::cost::general
