#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "launch/elastic/coordinator_parts.hpp"

namespace nereus::launch {

namespace {

constexpr int kMostFruitless = 20;  // generations without a step

}  // namespace

void Coordinator::break_off(const std::string& why) {
  if (phase_ == Phase::kGathering || phase_ == Phase::kFinished) return;
  const bool first = phase_ == Phase::kRunning;
  if (first) {
    if (!soft_) sign_ = Clock::now();
    asked_ = Clock::now();
    say(fmt::format("generation {} is over: {}", state_.generation, why));
  }
  phase_ = Phase::kEnding;
  if (!first) return;
  for (auto& [name, member] : members_)
    if (member.in_generation) member.tell(message_of(ElasticKind::kEnd, state_.generation, why));
}

void Coordinator::end_softly(const std::string& why, bool save) {
  if (phase_ != Phase::kRunning || soft_) return;
  soft_ = true;
  saves_ = save;
  sign_ = Clock::now();
  say(fmt::format("generation {} ends after its step: {}", state_.generation, why));
  for (auto& [name, member] : members_)
    if (member.in_generation)
      member.tell(message_of(ElasticKind::kEndAfter, state_.generation, save ? "save" : ""));
}

void Coordinator::advance() {
  if (phase_ == Phase::kRunning && returning_until_) wait_for_return();
  if (phase_ == Phase::kRunning || phase_ == Phase::kEnding) {
    if (all_of_generation([](const Member& m) { return m.ended.has_value(); })) conclude();
  }
  if (phase_ == Phase::kRunning && !soft_ && !returning_until_ &&
      all_of_generation([](const Member& m) { return m.started || m.helper; })) {
    if (asked_to_end_) end_softly("asked to end", true);
    if (renews_) end_softly(fmt::format("--steps is {} now", options_.steps), true);
    for (const auto& [name, member] : members_)
      if (member.in_generation && !member.helper && member.noticed) {
        all_leave_ = usable().empty();
        end_softly(name + " will leave", all_leave_);
        break;
      }
    if (!soft_) leave_out_slow();
    if (!soft_) grow();
    if (!soft_) save_when_due();
  }
  if (phase_ == Phase::kGathering) begin();
  let_go();
}

void Coordinator::wait_for_return() {
  const bool all = all_of_generation([](const Member& m) { return m.connection != nullptr; });
  if (!all && Clock::now() < *returning_until_) return;
  returning_until_.reset();
  std::vector<std::string> missing;
  for (const auto& [name, member] : members_)
    if (!member.connection) missing.push_back(name);
  for (const std::string& name : missing) drop(name, "it did not reconnect");
  if (missing.empty() && !all_of_generation([](const Member& m) { return m.started || m.helper; }))
    break_off("it had not started when the coordinator was lost");
}

void Coordinator::conclude() {
  bool complete = true, agreed = true, any = false;
  std::int64_t newest = -1;
  for (const auto& [name, member] : members_) {
    if (!member.in_generation) continue;
    any = true;
    const ElasticMessage& ended = *member.ended;
    agreed = agreed && ended.agreed;
    complete = complete && ended.agreed && ended.done >= options_.steps;
    newest = std::max(newest, member.ended->held);
  }
  source_ = {newest, 0, 0};
  for (auto& [name, member] : members_) {
    if (!member.in_generation) continue;
    const ElasticMessage& ended = *member.ended;
    if (ended.held == newest && ended.done > source_.done)
      source_ = {newest, ended.done, ended.gradient_norm};
    if (ended.filled == newest && ended.filled_done > source_.done)
      source_ = {newest, ended.filled_done, 0};
    member.holds = ended.held >= 0;
    member.in_generation = member.helper = false;
    member.started = false;
    member.ended.reset();
  }
  phase_ = Phase::kGathering;
  pace_.broken_off();
  const bool saved_now = soft_ && saves_ && agreed;  // a rank lost meanwhile took its part with it
  saved_ = all_leave_ && saved_now;
  all_leave_ = soft_ = saves_ = false;
  changed_ = true;
  const bool ends_job = any && complete;
  if ((ends_job || (any && asked_to_end_ && saved_now)) && !is_saved(source_.done)) {
    fail_to_save(source_.done);
  } else if (ends_job) {
    state_.complete = true;
    finish();
  } else if (asked_to_end_ && (saved_now || newest < 0)) {
    finish();  // else once more, to save
  }
}

void Coordinator::begin() {
  std::vector<Member*> members = usable();
  // Nobody stays: those who leave do one more step together, and save.
  const bool farewell = members.empty() && !saved_;
  if (farewell) members = leaving();
  const int count = static_cast<int>(members.size());
  if (state_.generation < 0 && count < options_.first_members) return;
  if (!changed_ && count == tried_) return;
  changed_ = false;
  tried_ = count;
  if (count == 0) {
    if (asked_to_end_) return finish();
    end_probations(true);
    if (changed_) return;
    say("no machine is left: waiting for agents");
    return;
  }
  const std::optional<PlannedJob> planned = hooks_.plan(count);
  if (!planned) {
    end_probations(true);
    if (changed_) return;
    if (asked_to_end_) return finish();
    saved_ = saved_ || farewell;  // there is no way to
    say(fmt::format("{} not enough: waiting for more",
                    counted(count, "machine is", "machines are")));
    return;
  }
  if (++fruitless_ > kMostFruitless) {
    job::Message failure;
    failure.kind = job::MessageKind::kError;
    failure.code = "elastic.no-progress";
    failure.message = fmt::format("{} generations in a row ended without a step", kMostFruitless);
    outcome_.failure = failure;
    outcome_.exit_code = 5;
    phase_ = Phase::kFinished;
    return;
  }
  stages_ = stages_of(planned->job, planned->num_ranks);
  begin_generation(*planned, place(members, stages_));
}

std::vector<Member*> Coordinator::place(std::vector<Member*> members,
                                        const std::vector<plan::HeldStage>& stages) {
  // Members that trained before come first, then new ones, each in the order of joining.
  const auto order = [](const Member* m) {
    return std::pair(m->rank >= 0 ? m->rank : std::numeric_limits<int>::max(), m->arrival);
  };
  std::sort(members.begin(), members.end(),
            [&](const Member* a, const Member* b) { return order(a) < order(b); });
  std::vector<plan::HeldStage> held;
  for (const Member* member : members) held.push_back(member->stage);
  std::vector<Member*> places;
  for (const int who : plan::places_that_keep_stages(held, stages)) places.push_back(members[who]);
  for (Member* member : members) member->rank = -1;  // but for those that are told one
  return places;
}

void Coordinator::begin_generation(const PlannedJob& planned, const std::vector<Member*>& places) {
  ++state_.generation;
  state_.ranks.clear();
  state_.job = job::job_to_json(planned.job);
  state_.steps = planned.job.training.steps;
  state_.step_s = planned.step_s;
  num_ranks_ = planned.num_ranks;
  for (std::size_t i = 0; i < places.size(); ++i)
    state_.ranks[places[i]->name] = static_cast<int>(i);
  save_state(options_.folder, state_);
  morph_ = {};
  morph_.kind = state_.generation == 0 ? "started" : "morph";
  morph_.generation = state_.generation;
  morph_.num_ranks = planned.num_ranks;
  morph_.text = planned.text;
  morph_told_ = false;
  times_.clear();
  single_copy_ = plan::fewest_copies(planned.job.plan.placement) < 2;
  if (hooks_.begins) hooks_.begins(planned);
  soft_ = saves_ = renews_ = false;
  if (state_.generation == 0) sign_ = Clock::now();
  if (!begun_) begun_ = Clock::now();
  say(fmt::format("generation {}: {} on {}, from step {}", state_.generation, planned.text,
                  counted(planned.num_ranks, "machine"), source_.done));
  ElasticMessage message = message_of(ElasticKind::kGeneration, state_.generation);
  message.num_ranks = planned.num_ranks;
  message.job = state_.job;
  message.next_held = source_.held;
  message.most_done = state_.steps_done > 0 ? state_.steps_done : -1;
  message.done = source_.done;
  message.gradient_norm = source_.gradient_norm;
  std::vector<Member*> present = places;
  for (auto& [name, member] : members_)
    if (member.holds && member.connection && member.ready &&
        std::find(places.begin(), places.end(), &member) == places.end())
      present.push_back(&member);
  message.num_present = static_cast<int>(present.size());
  for (std::size_t i = 0; i < present.size(); ++i) {
    Member& member = *present[i];
    member.helper = i >= places.size();
    message.rank = static_cast<int>(i);
    member.rank = member.helper ? -1 : message.rank;
    member.in_generation = true;
    member.started = false;
    member.ended.reset();
    member.tell(message);
  }
  phase_ = Phase::kRunning;
}

}  // namespace nereus::launch
