#include "simulate/job/play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"

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

// The moments of a trace at which a policy has something to decide.
struct Moment {
  double time = 0;
  bool is_notice = false;  // of what goes at a later time
  std::vector<int> added, removed;
};

class Player {
 public:
  Player(const Availability& trace, const JobRates& rates, const Policy& policy)
      : trace_(trace), rates_(rates), policy_(policy), there_(trace.nodes.size()) {}

  JobPlay play() {
    out_.policy = policy_.name;
    out_.seconds = trace_.duration();
    out_.checkpoint_every = policy_.checkpoint_every;
    const std::vector<Moment> moments = find_moments();
    now_ = trace_.begin;
    change(moments.front());
    take_plan();  // the job begins with all that is there, at no cost
    hold_state();
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

  std::vector<Moment> find_moments() const {
    std::vector<Moment> out{{trace_.begin, false, {}, {}}};
    for (const AvailabilityEvent& event : trace_.events) {
      if (out.back().time != event.time) out.push_back({event.time, false, {}, {}});
      (event.added ? out.back().added : out.back().removed).push_back(event.node);
    }
    const double before = policy_.from_survivors
                              ? policy_.notice
                              : (policy_.checkpoint <= policy_.notice ? policy_.checkpoint : 0);
    if (!(before > 0)) return out;
    std::vector<Moment> notices;
    for (std::size_t i = 1; i < out.size(); ++i)
      if (!out[i].removed.empty())
        notices.push_back({std::max(out[i].time - before, trace_.begin), true, {}, out[i].removed});
    out.insert(out.end(), notices.begin(), notices.end());
    std::stable_sort(out.begin() + 1, out.end(),
                     [](const Moment& a, const Moment& b) { return a.time < b.time; });
    return out;
  }

  // --- The plan and who is in it -----------------------------------------------------------------

  const JobRate& plan_for(int machines) const {
    return policy_.leaves_out ? rates_.best_of(machines) : rates_.of(machines);
  }

  int num_there() const { return static_cast<int>(std::count(there_.begin(), there_.end(), 1)); }

  void change(const Moment& moment) {
    for (const int node : moment.added) there_[static_cast<std::size_t>(node)] = 1;
    for (const int node : moment.removed) there_[static_cast<std::size_t>(node)] = 0;
    const auto& present = rates_.best_of(num_there());
    possible_rate_ = present.samples_per_s;
  }

  bool may_work(int node) const {
    return there_[static_cast<std::size_t>(node)] != 0 &&
           std::find(leaving_.begin(), leaving_.end(), node) == leaving_.end();
  }

  // The best plan for who is there. Those that hold a stage of it stay with that stage, others fill
  // the places that are left; `moves_` says whether any of them must receive state.
  void take_plan() {
    std::vector<int> workers;
    for (const int node : holders_)
      if (may_work(node)) workers.push_back(node);
    std::vector<char> chosen(there_.size());
    for (const int node : workers) chosen[static_cast<std::size_t>(node)] = 1;
    for (std::size_t i = 0; i < there_.size(); ++i)
      if (!chosen[i] && may_work(static_cast<int>(i))) workers.push_back(static_cast<int>(i));
    plan_ = &plan_for(static_cast<int>(workers.size()));
    const auto wanted = static_cast<std::size_t>(
        plan_->machines > 0 ? plan_->machines : static_cast<int>(workers.size()));
    place(workers, std::min(wanted, workers.size()));
    step_seconds_ = plan_->samples_per_s > 0 ? rates_.samples_per_step / plan_->samples_per_s : 0;
  }

  void place(const std::vector<int>& workers, std::size_t places) {
    members_.assign(places, -1);
    moves_ = true;
    std::vector<int> others = workers;
    if (plan_->stages > 0 && plan_->stages == holders_stages_) {
      const auto stages = static_cast<std::size_t>(plan_->stages);
      std::vector<std::size_t> next(stages);  // place of each stage
      for (std::size_t s = 0; s < stages; ++s) next[s] = s;
      for (std::size_t i = 0; i < holders_.size(); ++i) {
        const std::size_t stage = i % stages;
        if (!may_work(holders_[i]) || next[stage] >= places) continue;
        members_[next[stage]] = holders_[i];
        next[stage] += stages;
        std::erase(others, holders_[i]);
      }
      moves_ = std::count(members_.begin(), members_.end(), -1) > 0;
    }
    std::size_t at = 0;
    for (int& node : members_)
      if (node < 0) node = others[at++];
  }

  bool is_member(int node) const {
    return std::find(members_.begin(), members_.end(), node) != members_.end();
  }

  bool every_stage_survives() const {
    if (holders_stages_ <= 0) return true;
    std::vector<char> alive(static_cast<std::size_t>(holders_stages_));
    for (std::size_t i = 0; i < holders_.size(); ++i)
      if (there_[static_cast<std::size_t>(holders_[i])])
        alive[i % static_cast<std::size_t>(holders_stages_)] = 1;
    return std::count(alive.begin(), alive.end(), 1) == holders_stages_;
  }

  // From now on the members of the plan hold the state: a morph is done.
  void hold_state() {
    holders_ = members_;
    holders_stages_ = plan_->stages;
  }

  // --- Time
  // ----------------------------------------------------------------------------------------

  void record(double seconds, Activity activity) {
    if (seconds <= 0) return;
    out_.spent[static_cast<int>(activity)] += seconds;
    const double start = recorded_;
    recorded_ += seconds;
    // Not across a checkpoint: what lies after it may be lost.
    const std::size_t fixed = std::max(saved_segments_, taken_segments_);
    if (out_.segments.size() > fixed && out_.segments.back().activity == activity)
      out_.segments.back().end = recorded_;
    else
      out_.segments.push_back({start, recorded_, activity});
  }

  // What is under way is broken off after `done_` seconds of it.
  void break_off() {
    if (doing_ == Doing::kStep || doing_ == Doing::kCheckpoint)
      record(done_, Activity::kLost);
    else
      record(done_, doing_ == Doing::kRestart ? Activity::kRestart : Activity::kIdle);
    done_ = 0;
  }

  void save() { save_as_of(out_.steps, out_.segments.size()); }

  void save_as_of(double steps, std::size_t segments) {
    pending_steps_ = out_.steps - steps;
    saved_segments_ = segments;
    written_ = kNever;
  }

  // A checkpoint was taken; it counts once it is written, beside training.
  void finish_checkpoint() {
    keep_if_written();
    ++out_.checkpoints;
    since_checkpoint_ = 0;
    steps_since_checkpoint_ = 0;
    if (policy_.write <= 0) return save();
    written_ = now_ + policy_.write;
    taken_steps_ = out_.steps;
    taken_segments_ = out_.segments.size();
  }

  void keep_if_written() {
    if (now_ >= written_) save_as_of(taken_steps_, taken_segments_);
  }

  // Back to the last checkpoint: whatever was useful since then was not.
  void roll_back() {
    keep_if_written();
    if (pending_steps_ > 0) ++out_.rollbacks;
    for (std::size_t i = saved_segments_; i < out_.segments.size(); ++i)
      if (out_.segments[i].activity == Activity::kUseful) {
        JobSegment& own = out_.segments[i];
        own.activity = Activity::kLost;
        out_.spent[static_cast<int>(Activity::kUseful)] -= own.end - own.start;
        out_.spent[static_cast<int>(Activity::kLost)] += own.end - own.start;
      }
    out_.steps -= pending_steps_;
    save();
    since_checkpoint_ = 0;
    steps_since_checkpoint_ = 0;
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
    if (steps_since_checkpoint_ == 0) return false;
    if (policy_.checkpoint_steps > 0) return steps_since_checkpoint_ >= policy_.checkpoint_steps;
    return policy_.checkpoint_every > 0 && since_checkpoint_ >= policy_.checkpoint_every;
  }

  // Whole steps at once, up to the next checkpoint; the clock does not drift from adding them.
  void run_steps(double until) {
    double many = std::floor((until - now_) / step_seconds_);
    if (policy_.checkpoint_steps > 0)
      many = std::min(many, policy_.checkpoint_steps - steps_since_checkpoint_);
    else if (policy_.checkpoint_every > 0)
      many = std::min(many, std::max(1.0, std::ceil((policy_.checkpoint_every - since_checkpoint_) /
                                                    step_seconds_)));
    if (wants_morph_) many = std::min(many, 1.0);
    finish_steps(many, many * step_seconds_);
    now_ += many * step_seconds_;
  }

  void finish_steps(double many, double seconds) {
    record(seconds, Activity::kUseful);
    out_.steps += many;
    pending_steps_ += many;
    steps_since_checkpoint_ += many;
    since_checkpoint_ += many * step_seconds_;
  }

  void run_until(double until) {
    out_.possible += possible_rate_ * (until - now_);
    out_.node_seconds += num_there() * (until - now_);
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
        finish_steps(1, done_);
        break;
      case Doing::kCheckpoint:
        record(done_, Activity::kCheckpoint);
        finish_checkpoint();
        if (restarts_after_checkpoint_) {
          restarts_after_checkpoint_ = false;
          take_plan();
          return begin_restart(policy_.restart +
                               (policy_.from_survivors ? moving_now() : policy_.load));
        }
        break;
      case Doing::kRestart:
        record(done_, Activity::kRestart);
        hold_state();
        break;
      case Doing::kNothing:
        record(done_, Activity::kIdle);
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
  double moving_now() const { return moves_ ? moving_seconds(*plan_) : 0; }

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
    out_.events.push_back({moment.time, num_there(), static_cast<int>(moment.added.size()),
                           static_cast<int>(moment.removed.size()), std::move(what)});
  }

  void meet(const Moment& moment) {
    if (moment.is_notice) return meet_notice(moment);
    ++changes_;
    const bool hit = std::any_of(moment.removed.begin(), moment.removed.end(),
                                 [&](int node) { return is_member(node); });
    change(moment);
    std::erase_if(leaving_, [&](int node) { return !there_[static_cast<std::size_t>(node)]; });
    if (hit) return lose(moment);
    if (moment.added.empty()) return note(moment, "only spare machines went");
    const JobRate& after = plan_for(num_there());
    if (doing_ == Doing::kNothing && after.samples_per_s > 0) {
      break_off();
      take_plan();
      const bool survives = policy_.from_survivors && every_stage_survives();
      begin_restart(policy_.restart + (survives ? moving_now() : policy_.load));
      return note(moment, "begins again");
    }
    if (doing_ == Doing::kRestart) {
      take_plan();  // goes into the restart under way
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

  void break_for_growth(const Moment& moment) {
    const bool mid_checkpoint = doing_ == Doing::kCheckpoint;
    if (policy_.from_survivors) {
      break_off();
      take_plan();
      begin_restart(policy_.restart + moving_now());
    } else if (mid_checkpoint || pending_steps_ > 0) {
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
    const bool survives = policy_.from_survivors && every_stage_survives();
    if (doing_ == Doing::kRestart && policy_.absorbs) {
      take_plan();
      return note(moment, "taken into the restart under way");
    }
    restarts_after_checkpoint_ = false;
    break_off();
    if (!survives) roll_back();
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
                     [&](int node) { return is_member(node); }))
      return;
    if (!policy_.from_survivors) {
      // A checkpoint that ends when the machine goes.
      break_off();
      doing_ = Doing::kCheckpoint;
      left_ = policy_.checkpoint;
      return;
    }
    // Hand over at the end of the step, where both fit into the notice.
    leaving_.insert(leaving_.end(), moment.removed.begin(), moment.removed.end());
    int usable = num_there() - static_cast<int>(leaving_.size());
    const JobRate& after = plan_for(std::max(usable, 0));
    if (policy_.ends_step && doing_ == Doing::kStep && after.samples_per_s > 0 &&
        left_ + policy_.restart + moving_seconds(after) <= policy_.notice)
      wants_morph_ = true;
    else
      leaving_.clear();
  }

  void close() {
    if (doing_ == Doing::kStep)
      record(done_, Activity::kUseful);
    else if (doing_ == Doing::kCheckpoint)
      record(done_, Activity::kCheckpoint);
    else
      record(done_, doing_ == Doing::kRestart ? Activity::kRestart : Activity::kIdle);
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

  std::vector<char> there_;
  std::vector<int> members_;  // of the plan, in the order of its places
  std::vector<int> holders_;  // of the state, in the order of places of the plan they hold
  int holders_stages_ = 0;
  std::vector<int> leaving_;  // have been given notice
  const JobRate* plan_ = nullptr;
  bool moves_ = false;  // state, to take up the plan
  double step_seconds_ = 0;
  double possible_rate_ = 0;

  double now_ = 0;
  double recorded_ = 0;  // seconds since the begin that have a segment
  Doing doing_ = Doing::kNothing;
  double left_ = 0;  // of what is being done
  double done_ = 0;
  bool wants_morph_ = false;
  bool restarts_after_checkpoint_ = false;
  int changes_ = 0;
  double next_after_ = kNever;

  double pending_steps_ = 0;  // since the last checkpoint
  double steps_since_checkpoint_ = 0;
  double since_checkpoint_ = 0;  // seconds of steps
  std::size_t saved_segments_ = 0;
  double written_ = kNever;  // when the checkpoint that is being written will be
  double taken_steps_ = 0;
  std::size_t taken_segments_ = 0;
};

}  // namespace

JobPlay play_job(const Availability& trace, const JobRates& rates, const Policy& policy) {
  NEREUS_CHECK(first_fault(trace).empty(), "a trace is checked where it is read");
  NEREUS_CHECK(!trace.events.empty() && trace.duration() > 0, "a trace takes time");
  return Player(trace, rates, policy).play();
}

}  // namespace nereus::simulate
