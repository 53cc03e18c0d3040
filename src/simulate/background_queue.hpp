// Simulates a cluster that runs one foreground job, and a queue of background jobs in the idle time
// of every rank. Advances from one foreground step to the next.
//
//   gaps      spans in which a rank of the foreground is idle: as many background pieces of `piece`
//             seconds as fit after `switching`; none overlaps with the foreground
//   paid      the pacing controller (launch/background/pace.hpp) aims at a slow-down of `aim` x the
//             promised `bound`: while background jobs run on the foreground's ranks, the mean
//             foreground step is longer by that share, and every rank computes for the background
//             for that additional time
//   yield     speed of a background job in gaps and in paid time, relative to its speed without the
//             foreground
//   unused    ranks that the foreground does not use run background jobs all the time, at full
//             speed
//
// Measured on an H200 with alternating runs (bench/gpu/RESULTS.md; a share is the background job's
// speed relative to its speed without the foreground):
//
//   piece, switching   the size of the pieces into which the runtime cuts graphs
//                      (worker/execute/cut_graph.hpp), and the time that it needs to switch from
//                      one process to the other and back (launch/background/runner.hpp)
//   yield, aim         measured with pieces of that size:  share, %     mean step longer by, %
//                      GPT-2, always computing             2.9 to 3.3   3.5 to 3.9
//                      ResNet-50, always computing         1.9 to 3.3   2.2 to 4.1
//                      assumed here for both               3.3          4
//                      GPT-2, waiting half of its time     45 to 47     1.4 to 4.2
//                      assumed here                        43           4
//                      In the run with a share of 1.9 %, two of three turns were granted only
//                      partly.
//
// A job with n ranks runs on n neighboring ranks, starting at a multiple of n. Such a set of ranks
// is a place: all of them must be free of other background jobs and have enough memory; the job
// advances while all of them are available to it. Of several free places, the job gets the one with
// the most available time per step. Jobs start in the order of the queue, at the start of a
// foreground step; when a job ends, the next one that fits starts.
//
//   QueuePlay play = play_queue(ranks, 12e-3, jobs, {}, 1000);
//   play.background;                          // background work, in devices
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nereus::simulate {

struct IdleSpan {
  double start = 0;  // seconds from the start of the foreground's step
  double end = 0;
};

// Ranks whose steps are equal.
struct SharedRanks {
  std::vector<int> ranks;
  bool used = true;  // whether the foreground uses them
  std::vector<IdleSpan> idle;
  double room = 0;  // bytes that the foreground leaves free on each
};

struct QueuedJob {
  std::string name;
  int num_ranks = 1;
  double step_s = 0;       // seconds per step without the foreground
  double bytes = 0;        // per rank
  std::int64_t steps = 0;  // 0: as long as the foreground runs
  int copies = 1;          // 0: one for each place that is free at the start
  double work_s = 0;       // device seconds per step; 0: the time of all its ranks
};

struct SharingRules {
  double bound = 0.05;
  double aim = 0.8;
  double yield = 0.85;
  double piece = 0.1e-3;
  double switching = 0.25e-3;
};

struct PlayedJob {
  int job = 0;  // index in the `jobs` of play_queue
  int first_rank = 0;
  double start = 0;
  double end = 0;  // when the job ended, or the end of the simulation
  double steps = 0;
  bool done = false;
};

struct QueuePlay {
  double seconds = 0;     // of all foreground steps
  double step_s = 0;      // mean of all steps
  double slowdown = 0;    // mean step / step without background - 1
  double background = 0;  // background work: mean number of devices that do it
  std::vector<PlayedJob> jobs;
  std::int64_t waiting = 0;  // copies that never started
};

// Seconds of work that a job on these groups of ranks does in the gaps of one step.
double gained_in_gaps(const std::vector<const SharedRanks*>& groups, const SharingRules& rules);
// Number of places with enough memory for the job, if no other background job runs.
int num_places(const std::vector<SharedRanks>& ranks, const QueuedJob& job);

QueuePlay play_queue(const std::vector<SharedRanks>& ranks, double step_s,
                     const std::vector<QueuedJob>& jobs, const SharingRules& rules,
                     std::int64_t foreground_steps);

}  // namespace nereus::simulate
