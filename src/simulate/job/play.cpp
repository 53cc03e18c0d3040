#include "simulate/job/play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "simulate/job/ledger.hpp"
#include "simulate/job/members.hpp"
#include "simulate/job/moments.hpp"

namespace nereus::simulate {

std::string_view to_string(Activity activity) {
  constexpr std::string_view names[] = {"useful", "checkpoint", "restart", "lost", "idle"};
  return names[static_cast<int>(activity)];
}

const JobRate& JobRates::of(int machines) const {
  NEREUS_CHECK(!by_machines.empty() && machines >= 0, "a job has plans");
  return by_machines[std::min(static_cast<std::size_t>(machines), by_machines.size() - 1)];
}

const JobRate& JobRates::best_of(int machines) const {
  const JobRate* best = &of(0);
  for (int n = 1; n <= machines && n < static_cast<int>(by_machines.size()); ++n)
    if (of(n).samples_per_s > best->samples_per_s) best = &of(n);
  return *best;
}

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTick = 1e-9;  // seconds: less than this is rounding

class Player {
 public:
  Player(const Availability& trace, const JobRates& rates, const Policy& policy)
      : trace_(trace), rates_(rates), policy_(policy), members_(trace.nodes.size()) {}

  JobPlay play() {
    out_.policy = policy_.name;
    out_.seconds = trace_.duration();
    out_.checkpoint_every = policy_.checkpoint_every;
    const std::vector<Moment> moments = moments_of(trace_, policy_);
    now_ = trace_.begin;
    change(moments.front());
    take_plan();  // the job begins with all that is there, at no cost
    members_.hold_state();
    for (std::size_t i = 1; i <= moments.size(); ++i) {
      const bool last = i == moments.size();
      // What happens at the very end is of no consequence.
      const bool over = last || moments[i].time >= trace_.end;
      run_until(over ? trace_.end : moments[i].time);
      if (over) break;
      next_after_ = i + 1 < moments.size() ? moments[i + 1].time : kNever;
      meet(moments[i]);
    }
    close();
    return std::move(out_);
  }

 private:
  enum class Doing { kStep, kCheckpoint, kRestart, kNothing };

  const JobRate& plan_for(int machines) const {
    return policy_.leaves_out ? rates_.best_of(machines) : rates_.of(machines);
  }

  void change(const Moment& moment) {
    // At one moment: who was there goes before it comes again, who was not comes before it goes.
    std::vector<int> later;
    for (const int node : moment.removed)
      if (members_.is_there(node))
        members_.go(node);
      else
        later.push_back(node);
    for (const int node : moment.added) members_.come(node);
    for (const int node : later) members_.go(node);
    possible_rate_ = rates_.best_of(members_.num_there()).samples_per_s;
  }

  void take_plan() {
    plan_ = &plan_for(members_.num_usable());
    members_.take(*plan_);
    step_seconds_ = plan_->samples_per_s > 0 ? rates_.samples_per_step / plan_->samples_per_s : 0;
  }

  // --- Time: one thing after the other --------------------------------------------------------

  // What is under way is broken off after `done_` seconds of it.
  void break_off() {
    if (doing_ == Doing::kStep || doing_ == Doing::kCheckpoint)
      ledger_.add(done_, Activity::kLost);
    else
      ledger_.add(done_, doing_ == Doing::kRestart ? Activity::kRestart : Activity::kIdle);
    done_ = 0;
  }

  void begin_restart(double seconds) {
    doing_ = Doing::kRestart;
    left_ = seconds;
    done_ = 0;
    ++out_.restarts;
  }

  void begin_next() {
    done_ = 0;
    if (plan_->samples_per_s <= 0) {
      doing_ = Doing::kNothing;
      left_ = kNever;
    } else if (checkpoint_is_due()) {
      doing_ = Doing::kCheckpoint;
      left_ = policy_.checkpoint;
    } else {
      doing_ = Doing::kStep;
      left_ = step_seconds_;
    }
  }

  bool checkpoint_is_due() const {
    if (ledger_.steps_since_checkpoint() == 0) return false;
    if (policy_.checkpoint_steps > 0)
      return ledger_.steps_since_checkpoint() >= policy_.checkpoint_steps;
    return policy_.checkpoint_every > 0 &&
           ledger_.seconds_since_checkpoint() >= policy_.checkpoint_every;
  }

  // Whole steps at once, up to the next checkpoint; the clock does not drift from adding them.
  void run_steps(double until) {
    double many = std::floor((until - now_) / step_seconds_);
    if (policy_.checkpoint_steps > 0)
      many = std::min(many, policy_.checkpoint_steps - ledger_.steps_since_checkpoint());
    else if (policy_.checkpoint_every > 0)
      many = std::min(
          many,
          std::max(1.0, std::ceil((policy_.checkpoint_every - ledger_.seconds_since_checkpoint()) /
                                  step_seconds_)));
    if (wants_morph_) many = std::min(many, 1.0);
    ledger_.add_steps(many, many * step_seconds_);
    now_ += many * step_seconds_;
  }

  void run_until(double until) {
    out_.possible += possible_rate_ * (until - now_);
    out_.node_seconds += members_.num_there() * (until - now_);
    while (now_ < until) {
      if (doing_ == Doing::kStep && done_ == 0 && until - now_ >= step_seconds_) {
        run_steps(until);
        if (wants_morph_)
          morph_now();
        else
          begin_next();
        continue;
      }
      const double take = std::min(left_, until - now_);
      const bool ends = left_ - take <= kTick;
      now_ = ends ? now_ + take : until;
      done_ += take;
      left_ -= take;
      if (!ends) break;
      finish_activity();
    }
  }

  void finish_activity() {
    switch (doing_) {
      case Doing::kStep:
        ledger_.add_steps(1, done_);
        break;
      case Doing::kCheckpoint:
        ledger_.add(done_, Activity::kCheckpoint);
        ledger_.checkpoint(now_, policy_.write);
        if (restarts_after_checkpoint_) {
          restarts_after_checkpoint_ = false;
          take_plan();
          return begin_restart(policy_.restart +
                               (policy_.from_survivors ? moving_now() : policy_.load));
        }
        break;
      case Doing::kRestart:
        ledger_.add(done_, Activity::kRestart);
        members_.hold_state();
        break;
      case Doing::kNothing:
        ledger_.add(done_, Activity::kIdle);
        break;
    }
    done_ = 0;
    if (wants_morph_ && doing_ != Doing::kRestart)
      morph_now();
    else
      begin_next();
  }

  // --- What the policy does --------------------------------------------------------------------

  // All of a machine's new state, over its own link.
  double moving_seconds(const JobRate& to) const {
    return policy_.bandwidth > 0 ? to.state_bytes / policy_.bandwidth : 0;
  }
  double moving_now() const { return members_.moves() ? moving_seconds(*plan_) : 0; }

  // A change that was planned, between two steps: nothing is lost and nothing is to be detected.
  void morph_now() {
    wants_morph_ = false;
    take_plan();
    begin_restart(policy_.restart + moving_now());
  }

  bool growing_pays(const JobRate& to) const {
    if (!policy_.grows_if_it_pays) return true;
    if (to.samples_per_s <= plan_->samples_per_s) return false;
    double expected = changes_ > 0 ? (now_ - trace_.begin) / changes_ : kNever;
    if (policy_.look_ahead > 0)
      expected = next_after_ - now_ <= policy_.look_ahead ? next_after_ - now_
                                                          : std::max(expected, policy_.look_ahead);
    return (to.samples_per_s - plan_->samples_per_s) * expected >
           to.samples_per_s * (policy_.restart + moving_seconds(to));
  }

  void note(const Moment& moment, std::string what) {
    out_.events.push_back({moment.time, members_.num_there(), static_cast<int>(moment.added.size()),
                           static_cast<int>(moment.removed.size()), std::move(what)});
  }

  void meet(const Moment& moment) {
    if (moment.is_notice) return meet_notice(moment);
    ++changes_;
    const bool hit = std::any_of(moment.removed.begin(), moment.removed.end(),
                                 [&](int node) { return members_.uses(node); });
    change(moment);
    if (hit) return lose(moment);
    if (moment.added.empty()) return note(moment, "only spare machines went");
    const JobRate& after = plan_for(members_.num_there());
    if (doing_ == Doing::kNothing && after.samples_per_s > 0) {
      break_off();
      take_plan();
      const bool survives = policy_.from_survivors && members_.every_stage_survives();
      begin_restart(policy_.restart + (survives ? moving_now() : policy_.load));
      return note(moment, "begins again");
    }
    if (doing_ == Doing::kRestart) {
      take_into_restart();
      return note(moment, "joins the restart under way");
    }
    if (doing_ == Doing::kNothing) return note(moment, "still too few");
    if (!policy_.ends_step) {
      // Varuna's manager restarts where the best plan uses another number of machines.
      if (after.machines > 0 && after.machines == plan_->machines)
        return note(moment, "kept as spare");
      return break_for_growth(moment);
    }
    if (!growing_pays(after)) return note(moment, "kept as spare: growing would not pay");
    wants_morph_ = true;
    note(moment, "grows after this step");
  }

  // State that newcomers need travels beside what is already on its way.
  void take_into_restart() {
    take_plan();
    left_ = std::max(left_, moving_now());
  }

  void break_for_growth(const Moment& moment) {
    const bool mid_checkpoint = doing_ == Doing::kCheckpoint;
    if (policy_.from_survivors) {
      break_off();
      take_plan();
      begin_restart(policy_.restart + moving_now());
    } else if (mid_checkpoint || ledger_.unsafe_steps() > 0) {
      // Nobody is in a hurry: everything is saved first, once.
      if (!mid_checkpoint) {
        break_off();
        doing_ = Doing::kCheckpoint;
        left_ = policy_.checkpoint;
      }
      restarts_after_checkpoint_ = true;
    } else {
      break_off();
      take_plan();
      begin_restart(policy_.restart + (policy_.from_survivors ? moving_now() : policy_.load));
    }
    note(moment, "restarts with more machines");
  }

  void lose(const Moment& moment) {
    wants_morph_ = false;
    const bool survives = policy_.from_survivors && members_.every_stage_survives();
    if (doing_ == Doing::kRestart && policy_.absorbs) {
      take_into_restart();
      return note(moment, "taken into the restart under way");
    }
    restarts_after_checkpoint_ = false;
    break_off();
    ledger_.lose_unwritten(now_);
    if (!survives) ledger_.roll_back(now_);
    take_plan();
    if (plan_->samples_per_s <= 0) {
      begin_next();
      return note(moment, "too few machines: stops");
    }
    // From the store everybody reads its own state, nobody sends any.
    begin_restart(policy_.detect + policy_.restart + (survives ? moving_now() : policy_.load));
    note(moment, survives ? "goes on from copies" : "goes back to the last checkpoint");
  }

  void meet_notice(const Moment& moment) {
    if (doing_ == Doing::kRestart || doing_ == Doing::kNothing) return;
    if (std::none_of(moment.removed.begin(), moment.removed.end(),
                     [&](int node) { return members_.uses(node); }))
      return;
    if (!policy_.from_survivors) {
      // A checkpoint that ends when the machine goes.
      break_off();
      doing_ = Doing::kCheckpoint;
      left_ = policy_.checkpoint;
      return;
    }
    // Hand over at the end of the step, where both fit into the notice.
    const auto warn = [&](bool leaves) {
      for (const int node : moment.removed) members_.warn(node, leaves);
    };
    warn(true);
    const JobRate& after = plan_for(members_.num_usable());
    wants_morph_ = policy_.ends_step && doing_ == Doing::kStep && after.samples_per_s > 0 &&
                   left_ + policy_.restart + moving_seconds(after) <= policy_.notice;
    if (!wants_morph_) warn(false);
  }

  void close() {
    if (doing_ == Doing::kStep)
      ledger_.add(done_, Activity::kUseful);
    else if (doing_ == Doing::kCheckpoint)
      ledger_.add(done_, Activity::kCheckpoint);
    else
      ledger_.add(done_, doing_ == Doing::kRestart ? Activity::kRestart : Activity::kIdle);
    out_.samples = out_.steps * rates_.samples_per_step;
    // Segments count from the begin of the trace.
    for (JobSegment& own : out_.segments) {
      own.start += trace_.begin;
      own.end += trace_.begin;
    }
  }

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
  bool wants_morph_ = false;
  bool restarts_after_checkpoint_ = false;
  int changes_ = 0;
  double next_after_ = kNever;
};

}  // namespace

JobPlay play_job(const Availability& trace, const JobRates& rates, const Policy& policy) {
  NEREUS_CHECK(first_fault(trace).empty(), "a trace is checked where it is read");
  NEREUS_CHECK(!trace.events.empty() && trace.duration() > 0, "a trace takes time");
  return Player(trace, rates, policy).play();
}

}  // namespace nereus::simulate
