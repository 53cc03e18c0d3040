// A whole job played through an availability trace, event by event: what it gets done, and where
// the time goes.
//
//   JobRates rates{.samples_per_step = 1024, .by_machines = {...}};   // index = machines
//   JobPlay play = play_job(trace, rates, our_policy(2, 1.25e9));
//   play.samples / play.seconds; play.shares().useful;
//
// At any moment the job does one of: a step, a checkpoint, a restart (detection, waits, moving
// state), nothing (no plan for so few machines). A step that is broken off is lost; steps since the
// last checkpoint are lost where state comes from it, and then count as lost from when they were
// done. So the five parts add up to the duration, exactly. A step under way at the end of the trace
// counts as useful time but not as samples.
//
// Where plans say how many stages they have, machines hold one stage each (plan/places.hpp): state
// survives if every stage has a machine left, and moves only to machines that must take another
// stage; between plans of different depth all of it moves. Machines beyond those that the plan uses
// are spare: losing one costs nothing. A plan that does not say is taken to keep a copy.
//
// Everything is arithmetic on the trace: the same inputs give the same result to the last bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/job/availability.hpp"
#include "simulate/job/policy.hpp"

namespace nereus::simulate {

// The best plan for a number of machines; nothing where none fits.
struct JobRate {
  double samples_per_s = 0;
  int machines = 0;        // that it uses
  int stages = 0;          // 0 = not said
  double state_bytes = 0;  // of the fullest machine: what it must receive
  std::string plan = {};   // in words
  double planned = 0;  // samples/s by which plans are chosen, where that is another; 0 = it is not

  double choice() const { return planned > 0 ? planned : samples_per_s; }
};

struct JobRates {
  double samples_per_step = 1;
  std::vector<JobRate> by_machines;  // of 0, 1, ... machines; more than the last are spare

  const JobRate& of(int machines) const;
  // The fastest for at most so many, by what was planned.
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
  int machines = 0;  // that are there afterwards
  int added = 0, removed = 0;
  std::string what;  // what the job did about it
};

struct JobPlay {
  std::string policy;
  double seconds = 0;  // of the trace
  double samples = 0;
  double steps = 0;
  double possible = 0;  // samples, had every change been free and immediate
  double node_seconds = 0;
  double spent[kNumActivities] = {};  // seconds
  int checkpoints = 0, restarts = 0, rollbacks = 0;
  double checkpoint_every = 0;  // seconds between two, where by time
  std::vector<JobSegment> segments;
  std::vector<JobEvent> events;

  double samples_per_s() const { return samples / seconds; }
  double goodput() const { return possible > 0 ? samples / possible : 0; }
  double share(Activity a) const { return spent[static_cast<int>(a)] / seconds; }
};

JobPlay play_job(const Availability& trace, const JobRates& rates, const Policy& policy);

}  // namespace nereus::simulate
