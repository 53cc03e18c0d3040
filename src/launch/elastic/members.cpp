#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "launch/elastic/coordinator_parts.hpp"

namespace nereus::launch {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStranger{5000};  // to prove itself
constexpr milliseconds kOwnPause{1000};  // of this program: beats were not heard, not missing

}  // namespace

void Coordinator::accept() {
  for (int fd; (fd = accept_from(listener_)) >= 0;)
    strangers_.push_back(
        {std::make_unique<Connection>(fd, options_.token, Connection::Side::kCoordinator),
         Clock::now()});
}

void Coordinator::hear_all() {
  for (auto at = strangers_.begin(); at != strangers_.end();) {
    std::vector<std::string> frames;
    const bool open = at->connection->pump(frames);
    bool gone = !open;
    if (!frames.empty()) {
      greet(std::move(at->connection), frames);
      gone = true;
    } else if (!open || (!at->connection->is_proved() && Clock::now() - at->since > kStranger)) {
      if (!at->connection->is_proved())
        event("refused", -1,
              fmt::format("{}: {}", at->connection->peer(),
                          open ? "it proves nothing" : at->connection->fault()));
      gone = true;
    }
    at = gone ? strangers_.erase(at) : std::next(at);
  }
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name);
  for (const std::string& name : names) {
    const auto found = members_.find(name);
    if (found == members_.end() || !found->second.connection) continue;
    std::vector<std::string> frames;
    const bool open = found->second.connection->pump(frames);
    const std::string fault = found->second.connection->fault();
    for (const std::string& frame : frames) {
      if (!members_.contains(name)) break;
      hear(found->second, frame);
      if (phase_ == Phase::kFinished) return;
    }
    if (!open && members_.contains(name)) drop(name, "its connection broke (" + fault + ")");
  }
}

void Coordinator::greet(std::unique_ptr<Connection> connection,
                        const std::vector<std::string>& frames) {
  ElasticMessage hello;
  try {
    hello = job::parse_elastic(frames.front());
  } catch (const Errors& errors) {
    event("refused", -1, connection->peer() + ": " + errors.list().front().message);
    return;
  }
  const auto refuse = [&](const std::string& why) {
    event("refused", -1,
          fmt::format("{} ({}): {}", printable(hello.name), connection->peer(), why));
    connection->send(to_line(message_of(ElasticKind::kRefuse, -1, why)));
    std::vector<std::string> ignored;
    connection->pump(ignored);
  };
  if (hello.kind != ElasticKind::kHello) return refuse("its first word is no hello");
  if (hello.build != options_.build)
    return refuse(fmt::format("it is of build {}, the job of build {}", printable(hello.build),
                              options_.build));
  if (hello.name.empty() || hello.name != printable(hello.name))
    return refuse("its name is empty, or has characters that cannot be printed");
  Member& member = members_[hello.name];
  // If a connection broke only at the other end, a caller that proves to be the same member takes
  // it over.
  const bool again =
      member.in_generation && hello.generation == state_.generation && hello.rank == member.rank;
  if (member.connection && !again) return refuse("an agent of that name is here already");
  member.name = hello.name;
  member.connection = std::move(connection);
  take_hello(member, hello);
  for (std::size_t i = 1; i < frames.size() && members_.contains(hello.name); ++i)
    hear(member, frames[i]);
}

void Coordinator::take_hello(Member& member, const ElasticMessage& hello) {
  member.heard = Clock::now();
  member.worker_silent = 0;
  const bool belongs =
      member.in_generation && hello.generation == state_.generation && hello.rank == member.rank;
  if (belongs) {
    member.ready = true;
    say(fmt::format("{} is back as rank {}", member.name, member.rank));
    return;
  }
  if (hello.generation >= 0) {  // of an older generation, or voted out of this one
    event("fenced", -1,
          fmt::format("{} comes with generation {}, which is over for it", member.name,
                      hello.generation));
    member.ready = false;
    member.tell(
        message_of(ElasticKind::kRestart, hello.generation, "its generation went on without it"));
    return;
  }
  const bool was_in = member.in_generation;
  member.ready = true;
  member.in_generation = false;
  member.started = false;
  member.ended.reset();
  member.rank = -1;
  member.holds = member.helper = false;
  member.stage = {};
  member.arrival = ++arrivals_;
  joined_ = Clock::now();
  if (begun_) ++changes_;
  grown_for_ = -1;
  event("joined", -1, member.name);
  if (was_in) break_off(member.name + " came again as a new one");
}

void Coordinator::drop(std::string name, const std::string& why) {
  Member& member = members_.at(name);
  const bool was_in = member.in_generation;
  const int rank = member.rank;
  const bool left = member.noticed && !was_in;
  members_.erase(name);
  if (left) return;
  ++changes_;
  event("lost", was_in ? rank : -1, fmt::format("{}: {}", name, why));
  grown_for_ = -1;
  if (!was_in) return;
  pace_.lost();
  break_off(lost_text(rank));
}

std::string Coordinator::lost_text(int rank) {
  return rank >= 0 ? fmt::format("rank {} was lost", rank)
                   : "a machine was lost that had state to give";
}

void Coordinator::lose(Member& member, const std::string& why) {
  ++changes_;
  event("lost", member.in_generation ? member.rank : -1, fmt::format("{}: {}", member.name, why));
  const bool was_in = member.in_generation;
  const int rank = std::exchange(member.rank, -1);
  member.ready = member.in_generation = member.started = member.holds = member.helper = false;
  member.stage = {};
  member.ended.reset();
  grown_for_ = -1;
  if (!was_in) return;
  pace_.lost();
  break_off(lost_text(rank));
}

void Coordinator::check_beats() {
  const auto now = Clock::now();
  if (now - looked_ > kOwnPause)
    for (auto& [name, member] : members_) member.heard = now;
  looked_ = now;
  std::vector<std::string> silent;
  std::size_t connected = 0;
  for (auto& [name, member] : members_) {
    if (!member.connection) continue;
    ++connected;
    if (seconds(now - member.heard) > options_.dead_after_s) silent.push_back(name);
  }
  // All at the same time: this machine is cut off. They continue to train.
  const bool cut_off = silent.size() > 1 && silent.size() == connected &&
                       seconds(now - members_.at(silent.front()).heard) < options_.return_s;
  if (!cut_off)
    for (const std::string& name : silent)
      drop(name, fmt::format("no beat for {:.1f} s", seconds(now - members_.at(name).heard)));
  for (auto& [name, member] : members_)
    if (member.in_generation && member.connection && member.worker_silent > options_.dead_after_s) {
      const std::string why =
          fmt::format("its worker shows no life for {:.1f} s", member.worker_silent);
      member.worker_silent = 0;
      member.tell(message_of(ElasticKind::kRestart, state_.generation, why));
      lose(member, why);
    }
  // A pass that computes is not interrupted.
  const double answer_s = std::max(options_.answer_s, 3 * measured_step_);
  if (phase_ == Phase::kEnding && seconds(now - asked_) > answer_s)
    for (auto& [name, member] : members_)
      if (member.in_generation && !member.ended) {
        const std::string why = fmt::format("no answer for {:.0f} s", answer_s);
        member.tell(message_of(ElasticKind::kRestart, state_.generation, why));
        lose(member, why);
      }
}

void Coordinator::let_go() {
  for (auto at = members_.begin(); at != members_.end();) {
    Member& member = at->second;
    // Sends what it holds to others first; if no member continues, there is none to send it to.
    const bool gives = member.holds && (!usable().empty() || !saved_);
    if (!member.noticed || member.in_generation || !member.connection || gives) {
      ++at;
      continue;
    }
    event("left", -1, at->first);
    member.tell(message_of(ElasticKind::kLeave, -1, "let go: the others go on without it"));
    std::vector<std::string> ignored;
    member.connection->pump(ignored);
    at = members_.erase(at);
  }
}

std::vector<Member*> Coordinator::leaving() {
  std::vector<Member*> list;
  for (auto& [name, member] : members_)
    if (member.ready && member.connection && member.noticed && member.holds)
      list.push_back(&member);
  return list;
}

std::vector<Member*> Coordinator::usable() {
  std::vector<Member*> list;
  for (auto& [name, member] : members_)
    if (member.ready && member.connection && !member.noticed && !member.slow_until)
      list.push_back(&member);
  return list;
}

}  // namespace nereus::launch
