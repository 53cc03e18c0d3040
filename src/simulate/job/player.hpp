// The simulation of one job: a clock, the current activity, and what the policy does at each
// change. Only for use inside simulate/job; job_play.hpp explains the model.
//
//   player.cpp           time: one activity after the other
//   player_changes.cpp   what the policy does when machines leave, join, or will leave
#pragma once

#include <limits>
#include <string>

#include "simulate/job/job_ledger.hpp"
#include "simulate/job/job_members.hpp"
#include "simulate/job/moments.hpp"

namespace nereus::simulate {

class Player {
 public:
  Player(const Availability& trace, const JobRates& rates, const Policy& policy)
      : trace_(trace), rates_(rates), policy_(policy), members_(trace.nodes.size()) {}

  JobPlay play();

 private:
  enum class Doing { kStep, kCheckpoint, kRestart, kNothing };
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  // player.cpp
  const JobRate& plan_for(int machines) const {
    return policy_.leaves_out ? rates_.best_of(machines) : rates_.of(machines);
  }
  void take_plan();
  // Interrupts the current activity after `done_` seconds.
  void break_off();
  void begin_restart(double seconds);
  void begin_next();
  bool checkpoint_is_due() const;
  // Runs several whole steps at once, up to the next checkpoint; adding them does not make the
  // clock drift.
  void run_steps(double until);
  void run_until(double until);
  void finish_activity();
  void close();

  // player_changes.cpp
  void change(const Moment& moment);
  // Time to receive all of a machine's new state over its link.
  double moving_seconds(const JobRate& to) const {
    return policy_.bandwidth > 0 ? to.state_bytes / policy_.bandwidth : 0;
  }
  double moving_now() const { return members_.moves() ? moving_seconds(*plan_) : 0; }
  double detection(const Moment& moment) const;
  // A planned change between two steps: nothing is lost, and there is nothing to detect.
  void morph_now();
  bool growing_pays(const JobRate& to) const;
  void note(const Moment& moment, std::string what);
  void meet(const Moment& moment);
  // The state that new machines need is sent concurrently with state that is already in transfer.
  void take_into_restart();
  void break_for_growth(const Moment& moment);
  void lose(const Moment& moment);
  void meet_notice(const Moment& moment);

  const Availability& trace_;
  const JobRates& rates_;
  const Policy& policy_;
  JobPlay out_;

  Ledger ledger_{out_};
  Members members_;
  const JobRate* plan_ = nullptr;
  double step_seconds_ = 0;
  double possible_rate_ = 0;

  double now_ = 0;
  Doing doing_ = Doing::kNothing;
  double left_ = 0;  // seconds left of the current activity
  double done_ = 0;
  // The morph starts at the end of the first step that ends at this time or later.
  double morphs_from_ = kNever;
  bool restarts_after_checkpoint_ = false;
  int changes_ = 0;
  double next_after_ = kNever;
};

}  // namespace nereus::simulate
