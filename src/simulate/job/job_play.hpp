// Simulates a whole job over an availability trace, event by event: how much it completes, and how
// its time is spent.
//
//   JobRates rates{.samples_per_step = 1024, .by_machines = {...}};   // index = machines
//   JobPlay play = play_job(trace, rates, our_policy(2, 1.25e9));
//   play.samples / play.seconds; play.shares().useful;
//
// At any time the job is in a step, a checkpoint, a restart (detection, waiting, moving state), or
// idle (no plan for so few machines). A step that is interrupted is lost. If the job restarts from
// a checkpoint, the steps since that checkpoint are lost too; the time of these steps then counts
// as lost instead of useful. So the five parts add up exactly to the duration. A step in progress
// at the end of the trace counts as useful time, but its samples do not count.
//
// If plans give their number of stages, each machine holds one stage (plan/places.hpp): the state
// survives if every stage has a machine left, and only machines that change their stage receive
// state. Between plans of different depth, all state moves. Machines that the plan does not use are
// spares: losing one costs nothing. A plan without a number of stages is assumed to keep a copy of
// its state.
//
// The simulation is deterministic: the same inputs give the same result to the last bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/job/availability.hpp"
#include "simulate/job/policy.hpp"

namespace nereus::simulate {

// The best plan for a number of machines; empty if none fits.
struct JobRate {
  double samples_per_s = 0;
  int machines = 0;        // number of machines that it uses
  int stages = 0;          // 0 = unknown
  double state_bytes = 0;  // that the fullest machine must receive
  std::string plan = {};   // in words
  double planned = 0;      // samples/s by which plans are compared; 0 = samples_per_s

  double choice() const { return planned > 0 ? planned : samples_per_s; }
};

struct JobRates {
  double samples_per_step = 1;
  // For 0, 1, ... machines; machines beyond the last entry are spares.
  std::vector<JobRate> by_machines;

  const JobRate& of(int machines) const;
  // The fastest plan for at most that many machines, by `planned`.
  const JobRate& best_of(int machines) const;
};

enum class Activity { kUseful, kCheckpoint, kRestart, kLost, kIdle };
inline constexpr int kNumActivities = 5;
std::string_view to_string(Activity activity);

struct JobSegment {
  double start = 0, end = 0;
  Activity activity = Activity::kIdle;
};

struct JobEvent {
  double time = 0;
  int machines = 0;  // available after the event
  int added = 0, removed = 0;
  std::string what;  // what the job did
};

struct JobPlay {
  std::string policy;
  double seconds = 0;  // length of the trace
  double samples = 0;
  double steps = 0;
  double possible = 0;  // samples if every change were free and immediate
  double node_seconds = 0;
  double spent[kNumActivities] = {};  // seconds per activity
  int checkpoints = 0, restarts = 0, rollbacks = 0;
  double checkpoint_every = 0;  // seconds between two, if by time
  std::vector<JobSegment> segments;
  std::vector<JobEvent> events;

  double samples_per_s() const { return samples / seconds; }
  double goodput() const { return possible > 0 ? samples / possible : 0; }
  double share(Activity a) const { return spent[static_cast<int>(a)] / seconds; }
};

JobPlay play_job(const Availability& trace, const JobRates& rates, const Policy& policy);

}  // namespace nereus::simulate
