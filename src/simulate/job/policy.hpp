// What a system does when machines go and come: the rules under which a whole job is played
// (simulate/job/job_play.hpp).
//
//   name      after a loss                                        work that is lost
//   varuna    detects, waits a fixed time, kills all, starts      back to the last checkpoint
//             again from the store (Athlur et al., EuroSys 2022)
//   oobleck   takes another set of pipeline templates, copies     the step under way
//             missing layers (Jang et al., SOSP 2023)
//   ours      morphs: a new plan, state from surviving copies;    the step under way; back to the
//             from the checkpoint where no copy survived          checkpoint where no copy survived
//
// Varuna's and Oobleck's numbers: those of Oobleck's artifact (data/varuna/SOURCES.md), or from the
// job's own bytes and bandwidth. Ours: detection + bytes that the fullest machine receives over its
// own link; grows only where that pays, at the end of a step:
//   (rate after - rate now) * expected time to the next change > rate after * seconds of the morph
// The expected time is the mean so far; with look-ahead (Parcae, Duan et al., NSDI 2024) the true
// one where the next change lies within it: what a perfect prediction would give.
//
//   Policy p = varuna_policy({.checkpoint = 50, .restart = 515, .rendezvous = 10});
#pragma once

#include <string>

namespace nereus::simulate {

struct Policy {
  std::string name;
  bool from_survivors = false;  // state from copies that are left; else from the last checkpoint
  bool ends_step = false;       // a planned change waits for the end of the step
  bool grows_if_it_pays = false;
  bool leaves_out = false;  // machines, where fewer of them are faster
  // A change during a restart is taken into it; else the restart begins again.
  bool absorbs = false;

  // Sees a loss when the trace says that it was seen; else after its own time.
  bool sees_as_traced = false;
  double detect = 0;     // seconds from a loss until it is known
  double restart = 0;    // from then until training goes on, whatever the job
  double load = 0;       // more, where state comes from the checkpoint
  double bandwidth = 0;  // bytes/s of a machine's link, over which it receives its new state

  double checkpoint = 0;        // seconds that training stands still for one
  double write = 0;             // from then until it counts, beside training
  int checkpoint_steps = 0;     // one every so many steps; 0 = by time
  double checkpoint_every = 0;  // seconds of training between two; 0 = none
  double notice = 0;            // seconds before a machine goes that this is known
  double look_ahead = 0;        // seconds
  double gather = 0;  // seconds that a machine which came waits for others, to grow once for all
};

// Of Varuna's released manager (github.com/microsoft/varuna, morph_server.py).
inline constexpr double kVarunaPreemptionPoll = 5;    // seconds between looks at the cloud's events
inline constexpr double kVarunaPreemptionWait = 120;  // fixed, before all are killed
// Of Oobleck's artifact.
inline constexpr double kArtifactRendezvous = 10;
inline constexpr int kArtifactCheckpointSteps = 10;
// From missing heartbeats to the next step, of small states: 2.3 s in the median (network cut,
// SIGSTOP; docs/elastic-training.md), of which 2 are waited for. A machine that dies is seen at
// once (0.3 s).
inline constexpr double kOurDetection = 2;
// How long the coordinator waits for more machines before it grows (launch/elastic/growth.hpp).
inline constexpr double kOurGathering = 0.7;
// From a device to its host's memory over PCIe 3.0 x16, which is all that training waits for when a
// checkpoint is written beside it (checkpoint/writer.hpp).
inline constexpr double kSnapshotRate = 12e9;  // bytes/s
// Azure's notice before a spot machine goes, best effort.
inline constexpr double kSpotNotice = 30;

Policy varuna_policy(double checkpoint, double restart);
Policy oobleck_policy(double reconfigure);
Policy our_policy(double detect, double bandwidth);

}  // namespace nereus::simulate
