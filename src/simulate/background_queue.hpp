// A cluster that one foreground job has, and a queue of background jobs in what it leaves: played
// from one foreground step to the next, over the idle spans of every rank's step.
//
//   gaps      spans in which a rank of the foreground does nothing: in each, background pieces of
//             `piece` seconds as far as they fit behind `switching`; none overlaps the foreground
//   paid      the pacing controller (launch/background/pace.hpp) aims at `aim` x the promised
//             slow-down `bound`: while background jobs run on its ranks, the foreground's step is
//             longer by that in the mean, and every rank is the background's as long
//   yield     of both, what a background job makes of a second beside the foreground
//   ranks     of no use to the foreground are the background's throughout, nothing lost
//
// Measured on an H200 by turns (bench/gpu/RESULTS.md; shares are of the background's speed alone):
//
//   piece, switching   as the runtime cuts them (worker/execute/cut_graph.hpp), and what it takes
//                      there to change from one process to the other and back
//                      (launch/background/runner.hpp)
//   yield, aim         of runs with pieces of that size:   share, %     steps longer in the mean, %
//                      GPT-2, computing all the time       2.9 to 3.3   3.5 to 3.9
//                      ResNet-50, so                       1.9 to 3.3   2.2 to 4.1
//                      here, both                          3.3          4
//                      GPT-2, waiting half of its time     45 to 47     1.4 to 4.2
//                      here                                43           4
//                      In the run of 1.9 the controller had given two turns of three in part only.
//
// A job of n ranks takes n neighbouring ranks, a multiple of n from the first, all free of other
// background jobs and with room in memory; it advances while all of them are its own. Of the places
// free the one of the most time a step is taken. Jobs start in their order, with a foreground step;
// the next that fits starts where one ends.
//
//   QueuePlay play = play_queue(ranks, 12e-3, jobs, {}, 1000);
//   play.background;                          // devices' worth of background work
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nereus::simulate {

struct IdleSpan {
  double start = 0;  // seconds of the foreground's step
  double end = 0;
};

// Ranks that do the same.
struct SharedRanks {
  std::vector<int> ranks;
  bool used = true;  // by the foreground
  std::vector<IdleSpan> idle;
  double room = 0;  // bytes that the foreground leaves on each
};

struct QueuedJob {
  std::string name;
  int num_ranks = 1;
  double step_s = 0;       // alone
  double bytes = 0;        // on each rank
  std::int64_t steps = 0;  // 0: as long as the foreground
  int copies = 1;          // 0: one wherever there is a place, at the start
  double work_s = 0;       // what one device would take for a step; 0: its ranks' time in all
};

struct SharingRules {
  double bound = 0.05;
  double aim = 0.8;
  double yield = 0.85;
  double piece = 0.1e-3;
  double switching = 0.25e-3;
};

struct PlayedJob {
  int job = 0;  // index
  int first_rank = 0;
  double start = 0;
  double end = 0;  // or the play's
  double steps = 0;
  bool done = false;
};

struct QueuePlay {
  double seconds = 0;     // of all foreground steps
  double step_s = 0;      // of one, their mean
  double slowdown = 0;    // of the mean
  double background = 0;  // mean over time: devices' worth of background work
  std::vector<PlayedJob> jobs;
  std::int64_t waiting = 0;  // copies that never began
};

// Seconds that a job on all these groups of ranks makes of a step, without what is paid for.
double gained_in_gaps(const std::vector<const SharedRanks*>& groups, const SharingRules& rules);
// How many places have room for the job where none runs.
int num_places(const std::vector<SharedRanks>& ranks, const QueuedJob& job);

QueuePlay play_queue(const std::vector<SharedRanks>& ranks, double step_s,
                     const std::vector<QueuedJob>& jobs, const SharingRules& rules,
                     std::int64_t foreground_steps);

}  // namespace nereus::simulate
