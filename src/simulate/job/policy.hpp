// Defines what a system does when machines leave and join: the rules for the simulation of a whole
// job (simulate/job/job_play.hpp).
//
//   name      after a loss                                        lost work
//   varuna    detects, waits a fixed time, kills all processes,   back to the last checkpoint
//             restarts from storage (Athlur et al., EuroSys 2022)
//   oobleck   uses another set of pipeline templates, copies      the current step
//             missing layers (Jang et al., SOSP 2023)
//   ours      morphs: a new plan, state from surviving copies,    the current step; back to the
//             or from the checkpoint if no copy survived          checkpoint if no copy survived
//
// Varuna's and Oobleck's numbers are those of Oobleck's artifact (data/varuna/SOURCES.md), or
// follow from the job's bytes and bandwidth. Our policy takes the detection time, plus the time in
// which the fullest machine receives its bytes over its link. It grows only if growing pays off, at
// the end of a step:
//   (rate after - rate now) * expected time to the next change > rate after * seconds of the morph
// The expected time is the mean time between the changes so far. With look-ahead (Parcae, Duan et
// al., NSDI 2024) it is the true time if the next change is within the look-ahead, as with a
// perfect prediction; else it is at least the look-ahead.
//
//   Policy p = varuna_policy(50, 515);  // seconds of a checkpoint, and of a restart
#pragma once

#include <string>

namespace nereus::simulate {

struct Policy {
  std::string name;
  bool from_survivors = false;  // state comes from surviving copies; else from the last checkpoint
  bool ends_step = false;       // a planned change waits for the end of the step
  bool grows_if_it_pays = false;
  bool leaves_out = false;  // leaves machines unused if fewer of them are faster
  // Whether a change during a restart becomes part of it; otherwise the restart begins again.
  bool absorbs = false;

  // Whether a loss is detected at the time given in the trace; otherwise after `detect`.
  bool sees_as_traced = false;
  double detect = 0;     // seconds from a loss until it is detected
  double restart = 0;    // from then until training continues, for any job
  double load = 0;       // additional seconds if the state comes from the checkpoint
  double bandwidth = 0;  // bytes/s of a machine's link, over which it receives its new state

  double checkpoint = 0;        // seconds that training pauses for one checkpoint
  double write = 0;             // seconds until it is complete, while training already continues
  int checkpoint_steps = 0;     // steps between two checkpoints; 0 = by time
  double checkpoint_every = 0;  // seconds of training between two checkpoints; 0 = none
  double notice = 0;            // seconds before a removal at which it becomes known
  double look_ahead = 0;        // seconds
  double gather = 0;            // seconds that a new machine waits for others, to grow only once
};

// From Varuna's released manager (github.com/microsoft/varuna, morph_server.py).
inline constexpr double kVarunaPreemptionPoll = 5;    // seconds between polls of the cloud's events
inline constexpr double kVarunaPreemptionWait = 120;  // fixed wait before all processes are killed
// From Oobleck's artifact.
inline constexpr double kArtifactRendezvous = 10;
inline constexpr int kArtifactCheckpointSteps = 10;
// From missing heartbeats to the next step, with small state: the median is 2.3 s (network cut,
// SIGSTOP; docs/elastic-training.md), of which 2 are the time-out. A machine whose process dies is
// detected faster (0.3 s).
inline constexpr double kOurDetection = 2;
// How long the coordinator waits for more machines before it grows (launch/elastic/growth.hpp).
inline constexpr double kOurGathering = 0.7;
// From a device to its host's memory over PCIe 3.0 x16. Training waits only for this copy if
// checkpoints are written asynchronously (checkpoint/writer.hpp).
inline constexpr double kSnapshotRate = 12e9;  // bytes/s
// Azure's notice before it takes a spot machine away, best effort.
inline constexpr double kSpotNotice = 30;

Policy varuna_policy(double checkpoint, double restart);
Policy oobleck_policy(double reconfigure);
Policy our_policy(double detect, double bandwidth);

}  // namespace nereus::simulate
