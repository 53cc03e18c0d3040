#include "launch/elastic/coordinator.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

#include "base/format.hpp"
#include "launch/elastic/coordinator_parts.hpp"

namespace nereus::launch {

ElasticMessage message_of(ElasticKind kind, std::int64_t generation, std::string text) {
  ElasticMessage message;
  message.kind = kind;
  message.generation = generation;
  message.text = std::move(text);
  return message;
}

std::vector<plan::HeldStage> stages_of(const job::Job& job, int num_ranks) {
  std::vector<plan::HeldStage> stages = plan::stages_of_places(job.plan.placement);
  stages.resize(static_cast<std::size_t>(num_ranks));
  return stages;
}

Coordinator::Coordinator(const CoordinatorOptions& options, const CoordinatorHooks& hooks)
    : options_(options), hooks_(hooks) {
  const std::optional<JobState> before = load_state(options_.folder);
  if (before) {
    state_ = *before;
    state_.steps_done = std::max(state_.steps_done, options_.known);
    if (options_.listen.port == 0) options_.listen = before->listen;
  }
  listener_ = listen_on(options_.listen);
  state_.listen = options_.listen;
  if (hooks_.listening) hooks_.listening(options_.listen);
  const bool complete = before && before->complete && before->steps_done >= options_.steps;
  state_.complete = complete;
  if (complete) {
    phase_ = Phase::kFinished;
    outcome_.steps_done = before->steps_done;
  } else if (before && before->generation >= 0) {
    come_back();
  }
}

Coordinator::~Coordinator() { close(listener_); }

JobOutcome Coordinator::run() {
  while (phase_ != Phase::kFinished) {
    wait();
    accept();
    hear_all();
    hear_signals();
    check_beats();
    advance();
  }
  dismiss_all();
  return outcome_;
}

void Coordinator::come_back() {
  if (state_.ranks.empty())
    say(fmt::format("resuming after {}", counted(state_.steps_done, "step")));
  else
    say(fmt::format("resuming generation {}: waiting for its {}", state_.generation,
                    counted(state_.ranks.size(), "agent")));
  phase_ = Phase::kRunning;
  returning_until_ =
      Clock::now() + std::chrono::milliseconds(static_cast<int>(options_.return_s * 1000));
  for (const auto& [name, rank] : state_.ranks) {
    Member& member = members_[name];
    member.name = name;
    member.in_generation = true;
    member.rank = rank;
  }
  num_ranks_ = static_cast<int>(state_.ranks.size());
  if (num_ranks_ > 0)
    stages_ =
        stages_of(job::parse_job(state_.job, options_.folder + "/coordinator.json"), num_ranks_);
  begun_ = Clock::now();
  renews_ = !state_.ranks.empty() && state_.steps != options_.steps;
  event("coordinator restarted", -1, fmt::format("at generation {}", state_.generation));
}

void Coordinator::say(const std::string& line) const {
  if (hooks_.say) hooks_.say(line);
}

void Coordinator::event(const std::string& kind, int rank, const std::string& text) {
  ElasticEvent e;
  e.kind = kind;
  e.step = state_.steps_done;
  e.rank = rank;
  e.text = text;
  e.generation = state_.generation;
  if (hooks_.event) hooks_.event(e);
  say(fmt::format("{}: {}", kind, text));
}

void Coordinator::wait() {
  std::vector<pollfd> list = {{listener_, POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
  const auto add = [&](const Connection& c) {
    list.push_back({c.fd(), static_cast<short>(POLLIN | (c.wants_to_write() ? POLLOUT : 0)), 0});
  };
  for (const auto& stranger : strangers_) add(*stranger.connection);
  for (const auto& [name, member] : members_)
    if (member.connection) add(*member.connection);
  poll(list.data(), list.size(), 50);
}

void Coordinator::hear_signals() {
  const SignalPipe::Counts counts = signals_.take();
  if (counts.interrupts + counts.terminations == 0) return;
  if (asked_to_end_ || phase_ == Phase::kGathering) {
    outcome_.exit_code = 10;
    phase_ = Phase::kFinished;
    return;
  }
  asked_to_end_ = true;
  outcome_.exit_code = counts.terminations > 0 ? 75 : 10;
  event("asked to end", -1, counts.terminations > 0 ? "saving first" : "after the step");
  end_softly("asked to end", true);
}

void Coordinator::finish() {
  state_.ranks.clear();  // no member is expected
  save_state(options_.folder, state_);
  outcome_.steps_done = state_.steps_done;
  phase_ = Phase::kFinished;
}

void Coordinator::dismiss_all() {
  for (auto& [name, member] : members_)
    member.tell(message_of(ElasticKind::kLeave, -1,
                           outcome_.failure ? "the job failed"
                           : state_.complete
                               ? "the job is done"
                               : "the job was asked to stop and can be resumed later"));
  const auto end = Clock::now() + std::chrono::milliseconds(500);
  while (!members_.empty() && Clock::now() < end) {
    for (auto at = members_.begin(); at != members_.end();) {
      std::vector<std::string> ignored;
      const bool open = at->second.connection && at->second.connection->pump(ignored);
      at = open ? std::next(at) : members_.erase(at);
    }
    poll(nullptr, 0, 10);
  }
  outcome_.steps_done = state_.steps_done;
}

JobOutcome run_coordinator(const CoordinatorOptions& options, const CoordinatorHooks& hooks) {
  return Coordinator(options, hooks).run();
}

}  // namespace nereus::launch
