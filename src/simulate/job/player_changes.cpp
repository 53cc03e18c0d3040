#include <algorithm>
#include <utility>

#include "simulate/job/player.hpp"

namespace nereus::simulate {

void Player::change(const Moment& moment) {
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

// Of several losses at once, the one that is detected last counts.
double Player::detection(const Moment& moment) const {
  if (!policy_.sees_as_traced) return policy_.detect;
  double last = 0;
  for (const std::optional<double>& seen : moment.seen)
    last = std::max(last, seen ? *seen : policy_.detect);
  return last;
}

void Player::morph_now() {
  morphs_from_ = kNever;
  take_plan();
  begin_restart(policy_.restart + moving_now());
}

bool Player::growing_pays(const JobRate& to) const {
  if (!policy_.grows_if_it_pays) return true;
  if (to.choice() <= plan_->choice()) return false;
  double expected = changes_ > 0 ? (now_ - trace_.begin) / changes_ : kNever;
  if (policy_.look_ahead > 0)
    expected = next_after_ - now_ <= policy_.look_ahead ? next_after_ - now_
                                                        : std::max(expected, policy_.look_ahead);
  return (to.choice() - plan_->choice()) * expected >
         to.choice() * (policy_.restart + moving_seconds(to));
}

void Player::note(const Moment& moment, std::string what) {
  out_.events.push_back({moment.time, members_.num_there(), static_cast<int>(moment.added.size()),
                         static_cast<int>(moment.removed.size()), std::move(what)});
}

void Player::meet(const Moment& moment) {
  if (moment.notice > 0) return meet_notice(moment);
  ++changes_;
  const bool hit = std::any_of(moment.removed.begin(), moment.removed.end(),
                               [&](int node) { return members_.uses(node); });
  change(moment);
  if (hit) return lose(moment);
  if (moment.added.empty()) return note(moment, "only spare machines were lost");
  const JobRate& after = plan_for(members_.num_usable());
  if (doing_ == Doing::kNothing && after.samples_per_s > 0) {
    break_off();
    take_plan();
    const bool survives = policy_.from_survivors && members_.every_stage_survives();
    begin_restart(policy_.restart + (survives ? moving_now() : policy_.load));
    return note(moment, "begins again");
  }
  if (doing_ == Doing::kRestart) {
    take_into_restart();
    return note(moment, "joins the restart in progress");
  }
  if (doing_ == Doing::kNothing) return note(moment, "still too few");
  if (!policy_.ends_step) {
    // Varuna's manager restarts if the best plan uses another number of machines.
    if (after.machines > 0 && after.machines == plan_->machines)
      return note(moment, "kept as spare");
    return break_for_growth(moment);
  }
  if (!growing_pays(after)) return note(moment, "kept as spare: growing would not pay");
  morphs_from_ = now_ + policy_.gather;
  note(moment, "grows after this step");
}

void Player::take_into_restart() {
  take_plan();
  left_ = std::max(left_, moving_now());
}

void Player::break_for_growth(const Moment& moment) {
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

void Player::lose(const Moment& moment) {
  morphs_from_ = kNever;
  const bool survives = policy_.from_survivors && members_.every_stage_survives();
  if (doing_ == Doing::kRestart && policy_.absorbs) {
    take_into_restart();
    return note(moment, "added to the restart in progress");
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
  // From storage every machine reads its state, and none sends any.
  begin_restart(detection(moment) + policy_.restart + (survives ? moving_now() : policy_.load));
  note(moment, survives ? "resumes from copies" : "goes back to the last checkpoint");
}

void Player::meet_notice(const Moment& moment) {
  if (doing_ == Doing::kNothing) return;
  if (doing_ == Doing::kRestart && !policy_.ends_step) return;
  if (std::none_of(moment.removed.begin(), moment.removed.end(),
                   [&](int node) { return members_.uses(node); })) {
    for (const int node : moment.removed) members_.warn(node, policy_.ends_step);
    return;
  }
  if (!policy_.from_survivors) {
    // A checkpoint that ends when the machine goes.
    break_off();
    doing_ = Doing::kCheckpoint;
    left_ = policy_.checkpoint;
    return;
  }
  // Hands over at the end of the step, if both fit into the notice.
  const auto warn = [&](bool leaves) {
    for (const int node : moment.removed) members_.warn(node, leaves);
  };
  warn(true);
  const JobRate& after = plan_for(members_.num_usable());
  const double until_step_ends = left_ + (doing_ == Doing::kStep ? 0 : step_seconds_);
  if (policy_.ends_step && after.samples_per_s > 0 &&
      until_step_ends + policy_.restart + moving_seconds(after) <= moment.notice)
    morphs_from_ = now_;
  else
    warn(false);
}

}  // namespace nereus::simulate
