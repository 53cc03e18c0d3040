#include "launch/elastic/coordinator.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "job/elastic.hpp"
#include "launch/elastic/job_state.hpp"
#include "launch/signals.hpp"

namespace nereus::launch {

namespace {

using job::ElasticKind;
using job::ElasticMessage;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kStranger{5000};  // to prove itself
constexpr milliseconds kOwnPause{1000};  // of this program: beats were not heard, not missing
constexpr milliseconds kMoreJoin{700};   // members that come one after the other come together
constexpr int kMostFruitless = 20;       // generations without a step
constexpr double kFirstMorph = 3;        // seconds, until one was measured

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

struct Member {
  std::string name;
  std::unique_ptr<Connection> connection;  // none: it has not called again yet
  Clock::time_point heard{};
  double worker_silent = 0;
  bool ready = false;  // its worker waits, or is in the generation
  bool in_generation = false;
  int rank = -1;
  bool started = false;
  bool noticed = false;
  bool holds = false;   // state of the step to go on from
  bool helper = false;  // in the generation to give what it holds, and no more
  std::optional<ElasticMessage> ended;

  void tell(const ElasticMessage& message) {
    if (connection) connection->send(to_line(message));
  }
};

// From where the next generation goes on.
struct Source {
  std::int64_t held = -1;
  std::int64_t done = 0;
  double gradient_norm = 0;
};

enum class Phase { kGathering, kRunning, kEnding, kFinished };

ElasticMessage message_of(ElasticKind kind, std::int64_t generation, std::string text = {}) {
  ElasticMessage message;
  message.kind = kind;
  message.generation = generation;
  message.text = std::move(text);
  return message;
}

class Coordinator {
 public:
  Coordinator(const CoordinatorOptions& options, const CoordinatorHooks& hooks)
      : options_(options), hooks_(hooks), lock_(options.folder) {
    const std::optional<JobState> before = load_state(options_.folder);
    if (before) {
      state_ = *before;
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
  ~Coordinator() { close(listener_); }

  JobOutcome run() {
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

 private:
  // After a restart: the members of the last generation are expected, still at work.
  void come_back() {
    if (state_.ranks.empty())
      say(fmt::format("going on after {} steps", state_.steps_done));
    else
      say(fmt::format("going on with generation {}: waiting for its {} agents", state_.generation,
                      state_.ranks.size()));
    phase_ = Phase::kRunning;
    returning_until_ = Clock::now() + milliseconds(static_cast<int>(options_.return_s * 1000));
    for (const auto& [name, rank] : state_.ranks) {
      Member& member = members_[name];
      member.name = name;
      member.in_generation = true;
      member.rank = rank;
    }
    num_ranks_ = static_cast<int>(state_.ranks.size());
    event("coordinator restarted", -1, fmt::format("at generation {}", state_.generation));
  }

  void say(const std::string& line) const {
    if (hooks_.say) hooks_.say(line);
  }
  void event(const std::string& kind, int rank, const std::string& text) {
    ElasticEvent e;
    e.kind = kind;
    e.step = state_.steps_done;
    e.rank = rank;
    e.text = text;
    e.generation = state_.generation;
    if (hooks_.event) hooks_.event(e);
    say(fmt::format("{}: {}", kind, text));
  }

  void wait() {
    std::vector<pollfd> list = {{listener_, POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
    const auto add = [&](const Connection& c) {
      list.push_back({c.fd(), static_cast<short>(POLLIN | (c.wants_to_write() ? POLLOUT : 0)), 0});
    };
    for (const auto& stranger : strangers_) add(*stranger.connection);
    for (const auto& [name, member] : members_)
      if (member.connection) add(*member.connection);
    poll(list.data(), list.size(), 50);
  }

  void accept() {
    for (int fd; (fd = accept_from(listener_)) >= 0;)
      strangers_.push_back(
          {std::make_unique<Connection>(fd, options_.token, Connection::Side::kCoordinator),
           Clock::now()});
  }

  void hear_all() {
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

  // The first frames of a connection: a hello, and what follows it.
  void greet(std::unique_ptr<Connection> connection, const std::vector<std::string>& frames) {
    ElasticMessage hello;
    try {
      hello = job::parse_elastic(frames.front());
    } catch (const Errors& errors) {
      event("refused", -1, connection->peer() + ": " + errors.list().front().message);
      return;
    }
    const auto refuse = [&](const std::string& why) {
      event("refused", -1, fmt::format("{} ({}): {}", hello.name, connection->peer(), why));
      connection->send(to_line(message_of(ElasticKind::kLeave, -1, why)));
      std::vector<std::string> ignored;
      connection->pump(ignored);
    };
    if (hello.kind != ElasticKind::kHello) return refuse("its first word is no hello");
    if (hello.build != options_.build)
      return refuse(
          fmt::format("it is of build {}, the job of build {}", hello.build, options_.build));
    Member& member = members_[hello.name];
    if (member.connection) return refuse("an agent of that name is here already");
    member.name = hello.name;
    member.connection = std::move(connection);
    take_hello(member, hello);
    for (std::size_t i = 1; i < frames.size(); ++i) hear(member, frames[i]);
  }

  void take_hello(Member& member, const ElasticMessage& hello) {
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
    joined_ = Clock::now();
    grown_for_ = -1;
    event("joined", -1, member.name);
    if (was_in) break_off(member.name + " came again as a new one");
  }

  void hear(Member& member, const std::string& frame) {
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
        if (!member.noticed)
          event("notice", member.in_generation ? member.rank : -1,
                fmt::format("{}: {}", member.name, message.text));
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

  void hear_of_generation(Member& member, const ElasticMessage& message) {
    switch (message.kind) {
      case ElasticKind::kNote:
        for (auto& [name, other] : members_)
          if (other.in_generation && &other != &member) other.tell(message);
        break;
      case ElasticKind::kStarted:
        if (member.started) break;
        member.started = true;
        morph_.own_bytes += message.own_bytes;
        morph_.peer_bytes += message.peer_bytes;
        morph_.saved_bytes += message.saved_bytes;
        if (message.saved_step >= 0 && morph_.text.find("checkpoint") == std::string::npos)
          morph_.text += fmt::format(" from the checkpoint of step {}", message.saved_step);
        morph_.lost_steps = std::max<std::int64_t>(0, state_.steps_done - message.done);
        break;
      case ElasticKind::kRemark:
        if (std::exchange(last_remark_, message.text) != message.text)
          event("remark", member.rank, message.text);
        break;
      case ElasticKind::kSaid:
        hear_worker(member, job::parse_line(message.text));
        break;
      case ElasticKind::kEnded:
        if (member.ended) break;
        if (member.helper && message.agreed) {
          member.helper = member.in_generation = member.holds = false;
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

  void hear_worker(const Member& member, const job::Message& message) {
    if (message.kind == job::MessageKind::kStep) {
      member_step(message);
    } else if (message.kind == job::MessageKind::kCheckpoint) {
      event("checkpoint", member.rank, message.folder);
    } else if (message.kind == job::MessageKind::kError) {
      event("failure", member.rank, message.message);
      if (!message.input_error) return;  // another may do better; kLost follows
      outcome_.failure = message;
      outcome_.exit_code = 2;
      phase_ = Phase::kFinished;
    }
  }

  void member_step(const job::Message& message) {
    fruitless_ = 0;
    if (morph_.generation >= 0 && !morph_told_) {
      morph_told_ = true;
      morph_.seconds = seconds(Clock::now() - sign_);
      morph_.step = message.step;
      last_morph_s_ = morph_.seconds;
      if (hooks_.event) hooks_.event(morph_);
      say(fmt::format(
          "generation {}: {}, step {} {:.2f} s after the sign; state: {:.0f} bytes own, {:.0f} "
          "from peers, {:.0f} from a checkpoint; {} steps done again",
          morph_.generation, morph_.text, message.step, morph_.seconds, morph_.own_bytes,
          morph_.peer_bytes, morph_.saved_bytes, morph_.lost_steps));
    }
    if (message.step + 1 > state_.steps_done) {
      state_.steps_done = message.step + 1;
      measured_step_ = message.seconds;
    }
    if (hooks_.step) hooks_.step(message);
  }

  // The member is gone, with its connection.
  void drop(const std::string& name, const std::string& why) {
    Member& member = members_.at(name);
    const bool was_in = member.in_generation;
    const int rank = member.rank;
    const bool left = member.noticed && !was_in;
    members_.erase(name);
    if (left) return;
    event("lost", was_in ? rank : -1, fmt::format("{}: {}", name, why));
    grown_for_ = -1;
    if (was_in) break_off(lost_text(rank));
  }

  static std::string lost_text(int rank) {
    return rank >= 0 ? fmt::format("rank {} was lost", rank)
                     : "a machine was lost that had state to give";
  }

  // The agent is there, its worker not, or not to be trusted any more.
  void lose(Member& member, const std::string& why) {
    event("lost", member.in_generation ? member.rank : -1, fmt::format("{}: {}", member.name, why));
    const bool was_in = member.in_generation;
    const int rank = std::exchange(member.rank, -1);
    member.ready = member.in_generation = member.started = member.holds = member.helper = false;
    member.ended.reset();
    grown_for_ = -1;
    if (was_in) break_off(lost_text(rank));
  }

  void break_off(const std::string& why) {
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

  void end_softly(const std::string& why, bool save) {
    if (phase_ != Phase::kRunning || soft_) return;
    soft_ = true;
    sign_ = Clock::now();
    say(fmt::format("generation {} ends after its step: {}", state_.generation, why));
    for (auto& [name, member] : members_)
      if (member.in_generation)
        member.tell(message_of(ElasticKind::kEndAfter, state_.generation, save ? "save" : ""));
  }

  void hear_signals() {
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

  void check_beats() {
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
    // All at once: it is this machine that is cut off. They train on.
    const bool cut_off = silent.size() > 1 && silent.size() == connected &&
                         seconds(now - members_.at(silent.front()).heard) < options_.return_s;
    if (!cut_off)
      for (const std::string& name : silent)
        drop(name, fmt::format("no beat for {:.1f} s", seconds(now - members_.at(name).heard)));
    for (auto& [name, member] : members_)
      if (member.in_generation && member.connection &&
          member.worker_silent > options_.dead_after_s) {
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

  bool all_of_generation(const auto& is) const {
    return std::all_of(members_.begin(), members_.end(), [&](const auto& entry) {
      return !entry.second.in_generation || is(entry.second);
    });
  }

  void advance() {
    if (phase_ == Phase::kRunning && returning_until_) wait_for_return();
    if (phase_ == Phase::kRunning || phase_ == Phase::kEnding) {
      if (all_of_generation([](const Member& m) { return m.ended.has_value(); })) conclude();
    }
    if (phase_ == Phase::kRunning && !soft_ && !returning_until_ &&
        all_of_generation([](const Member& m) { return m.started || m.helper; })) {
      for (const auto& [name, member] : members_)
        if (member.in_generation && !member.helper && member.noticed) {
          end_softly(name + " will leave", false);
          break;
        }
      if (!soft_) grow();
    }
    if (phase_ == Phase::kGathering) begin();
    let_go();
  }

  void wait_for_return() {
    const bool all = all_of_generation([](const Member& m) { return m.connection != nullptr; });
    if (!all && Clock::now() < *returning_until_) return;
    returning_until_.reset();
    std::vector<std::string> missing;
    for (const auto& [name, member] : members_)
      if (!member.connection) missing.push_back(name);
    for (const std::string& name : missing) drop(name, "it did not call again");
    if (missing.empty() &&
        !all_of_generation([](const Member& m) { return m.started || m.helper; }))
      break_off("it had not begun when the coordinator went");
  }

  // All who are left have said what they hold.
  void conclude() {
    bool complete = true, any = false;
    std::int64_t newest = -1;
    for (const auto& [name, member] : members_) {
      if (!member.in_generation) continue;
      any = true;
      complete = complete && member.ended->agreed && member.ended->complete;
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
    soft_ = false;
    changed_ = true;
    if (any && complete) {
      state_.complete = true;
      finish();
    } else if (asked_to_end_) {
      finish();
    }
  }

  void finish() {
    state_.ranks.clear();  // nobody is to be waited for
    save_state(options_.folder, state_);
    outcome_.steps_done = state_.steps_done;
    phase_ = Phase::kFinished;
  }

  // Those with notice, now that others go on without them.
  void let_go() {
    for (auto at = members_.begin(); at != members_.end();) {
      Member& member = at->second;
      // What it holds goes to others first; where nobody goes on, there is nobody to give it to.
      const bool gives = member.holds && !usable().empty();
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

  std::vector<Member*> usable() {
    std::vector<Member*> list;
    for (auto& [name, member] : members_)
      if (member.ready && member.connection && !member.noticed) list.push_back(&member);
    return list;
  }

  void begin() {
    std::vector<Member*> members = usable();
    const int count = static_cast<int>(members.size());
    if (state_.generation < 0 && count < options_.first_members) return;
    if (!changed_ && count == tried_) return;
    changed_ = false;
    tried_ = count;
    if (count == 0) {
      say("no machine is left: waiting for agents");
      return;
    }
    const std::optional<PlannedJob> planned = hooks_.plan(count);
    if (!planned) {
      say(fmt::format("{} machines are not enough: waiting for more", count));
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
    begin_generation(*planned, place(members, planned->num_ranks));
  }

  // Members keep the rank they had where that exists: what they hold is then what they need. The
  // others fill the places that are free.
  static std::vector<Member*> place(const std::vector<Member*>& members, int num_ranks) {
    std::vector<Member*> places(static_cast<std::size_t>(num_ranks), nullptr), others;
    for (Member* member : members) {
      const bool fits = member->rank >= 0 && member->rank < num_ranks &&
                        places[static_cast<std::size_t>(member->rank)] == nullptr;
      if (fits)
        places[static_cast<std::size_t>(member->rank)] = member;
      else
        others.push_back(member);
    }
    // Those that trained before come before those that are new.
    std::stable_partition(others.begin(), others.end(), [](Member* m) { return m->rank >= 0; });
    std::size_t next = 0;
    for (Member*& free : places)
      if (free == nullptr) free = others[next++];
    for (; next < others.size(); ++next) others[next]->rank = -1;  // spare
    return places;
  }

  void begin_generation(const PlannedJob& planned, const std::vector<Member*>& places) {
    ++state_.generation;
    state_.ranks.clear();
    state_.job = job::job_to_json(planned.job);
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
    soft_ = false;
    if (state_.generation == 0) sign_ = Clock::now();
    say(fmt::format("generation {}: {} on {} machines, from step {}", state_.generation,
                    planned.text, planned.num_ranks, source_.done));
    ElasticMessage message = message_of(ElasticKind::kGeneration, state_.generation);
    message.num_ranks = planned.num_ranks;
    message.job = state_.job;
    message.next_held = source_.held;
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

  // A morph to more machines pays where the steps that are left save more than it takes.
  void grow() {
    std::vector<Member*> members = usable();
    const int count = static_cast<int>(members.size());
    if (count <= num_ranks_ || count == grown_for_ || Clock::now() - joined_ < kMoreJoin ||
        measured_step_ <= 0)
      return;
    grown_for_ = count;
    const std::optional<PlannedJob> planned = hooks_.plan(count);
    if (!planned || planned->num_ranks <= num_ranks_ || state_.step_s <= 0) return;
    const job::Job now = job::parse_job(state_.job, "the job");
    const double left = static_cast<double>(now.training.steps - state_.steps_done);
    const double saved = measured_step_ * (1 - planned->step_s / state_.step_s) * left;
    if (saved <= last_morph_s_) {
      say(fmt::format("{} machines: {} would save {:.1f} s, and a morph takes {:.1f} s", count,
                      planned->text, saved, last_morph_s_));
      return;
    }
    end_softly(fmt::format("{} machines are there: {}", count, planned->text), false);
  }

  void dismiss_all() {
    for (auto& [name, member] : members_)
      member.tell(message_of(ElasticKind::kLeave, -1,
                             outcome_.failure ? "the job failed" : "the job is done"));
    const auto end = Clock::now() + milliseconds(500);
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

  struct Stranger {
    std::unique_ptr<Connection> connection;
    Clock::time_point since;
  };

  CoordinatorOptions options_;
  const CoordinatorHooks& hooks_;
  JobLock lock_;
  SignalPipe signals_;
  int listener_ = -1;
  std::vector<Stranger> strangers_;
  std::map<std::string, Member> members_;
  JobState state_;
  Source source_;
  Phase phase_ = Phase::kGathering;
  bool soft_ = false;  // the generation ends after its step
  bool asked_to_end_ = false;
  int num_ranks_ = 0;
  bool changed_ = true;
  int tried_ = -1;      // members that were planned for last, in vain
  int grown_for_ = -1;  // so too, for growing
  int fruitless_ = 0;
  std::optional<Clock::time_point> returning_until_;
  Clock::time_point sign_ = Clock::now(), asked_{}, joined_{}, looked_ = Clock::now();
  double measured_step_ = 0, last_morph_s_ = kFirstMorph;
  ElasticEvent morph_;
  bool morph_told_ = true;
  std::string last_remark_;
  JobOutcome outcome_;
};

}  // namespace

JobOutcome run_coordinator(const CoordinatorOptions& options, const CoordinatorHooks& hooks) {
  return Coordinator(options, hooks).run();
}

}  // namespace nereus::launch
