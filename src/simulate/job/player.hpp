// The play of one job: a clock, what is being done, and what the policy does about each change.
// Inside simulate/job only; job_play.hpp says what is played.
//
//   player.cpp           time: one thing after the other
//   player_changes.cpp   what the policy does when machines go, come, or will go
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
  // What is under way is broken off after `done_` seconds of it.
  void break_off();
  void begin_restart(double seconds);
  void begin_next();
  bool checkpoint_is_due() const;
  // Whole steps at once, up to the next checkpoint; the clock does not drift from adding them.
  void run_steps(double until);
  void run_until(double until);
  void finish_activity();
  void close();

  // player_changes.cpp
  void change(const Moment& moment);
  // All of a machine's new state, over its own link.
  double moving_seconds(const JobRate& to) const {
    return policy_.bandwidth > 0 ? to.state_bytes / policy_.bandwidth : 0;
  }
  double moving_now() const { return members_.moves() ? moving_seconds(*plan_) : 0; }
  double detection(const Moment& moment) const;
  // A change that was planned, between two steps: nothing is lost and nothing is to be detected.
  void morph_now();
  bool growing_pays(const JobRate& to) const;
  void note(const Moment& moment, std::string what);
  void meet(const Moment& moment);
  // State that newcomers need travels beside what is already on its way.
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
  double left_ = 0;  // of what is being done
  double done_ = 0;
  double morphs_from_ = kNever;  // at the end of the first step that ends then, or later
  bool restarts_after_checkpoint_ = false;
  int changes_ = 0;
  double next_after_ = kNever;
};

}  // namespace nereus::simulate
