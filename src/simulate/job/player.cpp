#include "simulate/job/player.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nereus::simulate {

namespace {

constexpr double kTick = 1e-9;  // seconds: less than this is rounding

}  // namespace

JobPlay Player::play() {
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
    // What happens at the very end has no effect.
    const bool over = last || moments[i].time >= trace_.end;
    run_until(over ? trace_.end : moments[i].time);
    if (over) break;
    next_after_ = i + 1 < moments.size() ? moments[i + 1].time : kNever;
    meet(moments[i]);
  }
  close();
  return std::move(out_);
}

void Player::take_plan() {
  plan_ = &plan_for(members_.num_usable());
  members_.take(*plan_);
  step_seconds_ = plan_->samples_per_s > 0 ? rates_.samples_per_step / plan_->samples_per_s : 0;
}

void Player::break_off() {
  if (doing_ == Doing::kStep || doing_ == Doing::kCheckpoint)
    ledger_.add(done_, Activity::kLost);
  else
    ledger_.add(done_, doing_ == Doing::kRestart ? Activity::kRestart : Activity::kIdle);
  done_ = 0;
}

void Player::begin_restart(double seconds) {
  doing_ = Doing::kRestart;
  left_ = seconds;
  done_ = 0;
  ++out_.restarts;
}

void Player::begin_next() {
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

bool Player::checkpoint_is_due() const {
  if (ledger_.steps_since_checkpoint() == 0) return false;
  if (policy_.checkpoint_steps > 0)
    return ledger_.steps_since_checkpoint() >= policy_.checkpoint_steps;
  return policy_.checkpoint_every > 0 &&
         ledger_.seconds_since_checkpoint() >= policy_.checkpoint_every;
}

void Player::run_steps(double until) {
  const auto steps_in = [&](double seconds) {
    return std::max(1.0, std::ceil(seconds / step_seconds_));
  };
  double many = std::floor((until - now_) / step_seconds_);
  if (policy_.checkpoint_steps > 0)
    many = std::min(many, policy_.checkpoint_steps - ledger_.steps_since_checkpoint());
  else if (policy_.checkpoint_every > 0)
    many = std::min(many, steps_in(policy_.checkpoint_every - ledger_.seconds_since_checkpoint()));
  if (morphs_from_ < kNever) many = std::min(many, steps_in(morphs_from_ - now_));
  ledger_.add_steps(many, many * step_seconds_);
  now_ += many * step_seconds_;
}

void Player::run_until(double until) {
  out_.possible += possible_rate_ * (until - now_);
  out_.node_seconds += members_.num_there() * (until - now_);
  while (now_ < until) {
    if (doing_ == Doing::kStep && done_ == 0 && until - now_ >= step_seconds_) {
      run_steps(until);
      if (now_ >= morphs_from_)
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

void Player::finish_activity() {
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
  if (now_ >= morphs_from_ && doing_ != Doing::kRestart)
    morph_now();
  else
    begin_next();
}

void Player::close() {
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

}  // namespace nereus::simulate
