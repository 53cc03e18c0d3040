#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "base/format.hpp"
#include "launch/elastic/coordinator_parts.hpp"

namespace nereus::launch {

void Coordinator::hear(Member& member, const std::string& frame) {
  ElasticMessage message;
  try {
    message = job::parse_elastic(frame);
  } catch (const Errors& errors) {
    drop(member.name, "it said something else: " + errors.list().front().message);
    return;
  }
  member.heard = Clock::now();
  switch (message.kind) {
    case ElasticKind::kHello:
      take_hello(member, message);
      return;
    case ElasticKind::kBeat:
      member.worker_silent = message.seconds;
      return;
    case ElasticKind::kNotice:
      if (!member.noticed) {
        ++changes_;
        event("notice", member.in_generation ? member.rank : -1,
              fmt::format("{}: {}", member.name, message.text));
      }
      member.noticed = true;
      return;
    case ElasticKind::kLost:
      lose(member, "its worker ended: " + message.text);
      return;
    default:
      break;
  }
  if (message.generation != state_.generation || !member.in_generation) return;  // too late
  hear_of_generation(member, message);
}

void Coordinator::hear_of_generation(Member& member, const ElasticMessage& message) {
  switch (message.kind) {
    case ElasticKind::kNote:
      for (auto& [name, other] : members_)
        if (other.in_generation && &other != &member) other.tell(message);
      break;
    case ElasticKind::kStarted:
      if (member.started) break;
      member.started = true;
      if (member.rank >= 0) member.stage = stages_[member.rank];
      morph_.own_bytes += message.own_bytes;
      morph_.peer_bytes += message.peer_bytes;
      morph_.saved_bytes += message.saved_bytes;
      if (message.saved_step >= 0 && morph_.text.find("checkpoint") == std::string::npos) {
        pace_.went_back();
        morph_.text += fmt::format(" from the checkpoint of step {}", message.saved_step);
      }
      morph_.lost_steps = std::max<std::int64_t>(0, state_.steps_done - message.done);
      break;
    case ElasticKind::kRemark:
      if (std::exchange(last_remark_, message.text) != message.text)
        event("remark", member.rank, message.text);
      break;
    case ElasticKind::kSaid:
      try {
        hear_worker(member, job::parse_line(message.text));
      } catch (const Errors& errors) {
        drop(member.name, "its worker said something else: " + errors.list().front().message);
      }
      break;
    case ElasticKind::kEnded:
      if (member.ended) break;
      if (member.helper && message.agreed) {
        member.helper = member.in_generation = member.holds = false;
        member.stage = {};
        break;
      }
      member.ended = message;
      if (!message.agreed && phase_ == Phase::kRunning)
        break_off(fmt::format("rank {} lost the others: {}", member.rank, message.text));
      break;
    default:
      break;
  }
}

void Coordinator::hear_worker(Member& member, const job::Message& message) {
  if (message.kind == job::MessageKind::kStep) {
    member_step(member, message);
  } else if (message.kind == job::MessageKind::kCheckpoint) {
    event("checkpoint", member.rank, message.folder);
    last_saved_ = message.step;
    ElasticMessage known = message_of(ElasticKind::kKnown, state_.generation);
    known.done = message.step;
    member.tell(known);
    pace_.written(now_s());
    tell_interval();
  } else if (message.kind == job::MessageKind::kError) {
    event("failure", member.rank, message.message);
    if (!message.input_error) return;  // another may do better; kLost follows
    outcome_.failure = message;
    outcome_.exit_code = 2;
    phase_ = Phase::kFinished;
  }
}

void Coordinator::member_step(const Member& member, const job::Message& message) {
  times_.add(member.rank, message);
  pace_.copied(message.waits.checkpoint);
  fruitless_ = 0;
  if (morph_.generation >= 0 && !morph_told_) {
    morph_told_ = true;
    morph_.seconds = seconds(Clock::now() - sign_);
    morph_.step = message.step;
    // The lost time: everything except the step.
    usual_morph_s_ = (usual_morph_s_ + std::max(0.0, morph_.seconds - message.seconds)) / 2;
    if (hooks_.event) hooks_.event(morph_);
    say(
        fmt::format("generation {}: {}, step {} {:.2f} s after the sign; state: {:.0f} bytes own, "
                    "{:.0f} from peers, {:.0f} from a checkpoint; {} done again",
                    morph_.generation, morph_.text, message.step, morph_.seconds, morph_.own_bytes,
                    morph_.peer_bytes, morph_.saved_bytes, counted(morph_.lost_steps, "step")));
  }
  if (message.step + 1 > state_.steps_done) {
    state_.steps_done = message.step + 1;
    measured_step_ = message.seconds;
    pace_.step(now_s(), message.seconds);
  }
  if (hooks_.step) hooks_.step(message);
}

}  // namespace nereus::launch
