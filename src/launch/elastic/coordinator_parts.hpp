// Shared by the source files of the coordinator (coordinator.hpp explains it).
//
//   coordinator.cpp     main loop: waits for messages, signals and time
//   members.cpp         membership: strangers (no hello yet), hellos, heartbeats, losses
//   hearing.cpp         messages of members and their workers
//   generations.cpp     how a generation begins, ends and is followed by the next
//   growth.cpp          whether continuing with more machines pays off
//   slowness.cpp        whether continuing without a slow machine pays off
//   elastic_saving.cpp  when to save
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/elastic.hpp"
#include "launch/elastic/coordinator.hpp"
#include "launch/elastic/job_state.hpp"
#include "launch/elastic/save_pace.hpp"
#include "launch/elastic/step_times.hpp"
#include "launch/signals.hpp"
#include "plan/places.hpp"

namespace nereus::launch {

using job::ElasticKind;
using job::ElasticMessage;
using Clock = std::chrono::steady_clock;

constexpr double kFirstMorph = 3;  // seconds, until one was measured

inline double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

struct Member {
  std::string name;
  std::unique_ptr<Connection> connection;  // null: it has not connected again yet
  Clock::time_point heard{};
  double worker_silent = 0;
  bool ready = false;  // its worker waits, or is in the generation
  bool in_generation = false;
  int rank = -1;
  bool started = false;
  bool noticed = false;
  int arrival = 0;          // order of joining
  bool holds = false;       // has state of the step to continue from
  plan::HeldStage stage{};  // which state
  bool helper = false;      // is in the generation only to send the state it holds
  std::optional<ElasticMessage> ended;
  std::optional<Clock::time_point> slow_until;  // not used in plans until then
  double probation_s = 0;                       // length of the last one, in seconds

  void tell(const ElasticMessage& message) {
    if (connection) connection->send(to_line(message));
  }
};

// Where the next generation gets its state.
struct Source {
  std::int64_t held = -1;
  std::int64_t done = 0;
  double gradient_norm = 0;
};

enum class Phase { kGathering, kRunning, kEnding, kFinished };

ElasticMessage message_of(ElasticKind kind, std::int64_t generation, std::string text = {});

std::vector<plan::HeldStage> stages_of(const job::Job& job, int num_ranks);

class Coordinator {
 public:
  Coordinator(const CoordinatorOptions& options, const CoordinatorHooks& hooks);
  ~Coordinator();

  JobOutcome run();

 private:
  // coordinator.cpp
  // After a restart: waits for the members of the last generation, which are still training.
  void come_back();
  void say(const std::string& line) const;
  void event(const std::string& kind, int rank, const std::string& text);
  void wait();
  void hear_signals();
  void finish();
  void dismiss_all();

  // members.cpp
  void accept();
  void hear_all();
  // Handles the first frames of a connection: a hello, and what follows it.
  void greet(std::unique_ptr<Connection> connection, const std::vector<std::string>& frames);
  void take_hello(Member& member, const ElasticMessage& hello);
  void hear(Member& member, const std::string& frame);
  void hear_of_generation(Member& member, const ElasticMessage& message);
  void hear_worker(Member& member, const job::Message& message);
  void member_step(const Member& member, const job::Message& message);
  // For a member that is gone: removes it, and closes its connection.
  void drop(std::string name, const std::string& why);
  static std::string lost_text(int rank);
  // For a member whose agent is connected, but whose worker is gone or no longer trusted.
  void lose(Member& member, const std::string& why);
  void check_beats();
  // Lets members with notice leave, now that the others continue without them.
  void let_go();
  std::vector<Member*> usable();
  std::vector<Member*> leaving();  // members with notice that hold state

  // generations.cpp
  void break_off(const std::string& why);
  void end_softly(const std::string& why, bool save);
  void advance();
  void wait_for_return();
  // Called when all remaining members have reported what they hold.
  void conclude();
  void begin();
  // Members keep the stage they hold if the plan has the same depth (plan/places.hpp).
  static std::vector<Member*> place(std::vector<Member*> members,
                                    const std::vector<plan::HeldStage>& stages);
  void begin_generation(const PlannedJob& planned, const std::vector<Member*>& places);

  // growth.cpp
  void grow();
  // Expected seconds until machines join or leave again, from the past rate; at most until the job
  // is done.
  double expected_to_last() const;

  // slowness.cpp
  void leave_out_slow();
  void end_probations(bool all);

  // elastic_saving.cpp
  void save_when_due();
  void tell_interval();  // if it differs from the last one
  // Whether the final checkpoint is known: reported, or seen on the disk.
  bool is_saved(std::int64_t steps_done) const;
  void fail_to_save(std::int64_t steps_done);
  static double now_s() { return seconds(Clock::now().time_since_epoch()); }

  bool all_of_generation(const auto& is) const {
    return std::all_of(members_.begin(), members_.end(), [&](const auto& entry) {
      return !entry.second.in_generation || is(entry.second);
    });
  }

  struct Stranger {
    std::unique_ptr<Connection> connection;
    Clock::time_point since;
  };

  CoordinatorOptions options_;
  const CoordinatorHooks& hooks_;
  SignalPipe signals_;
  int listener_ = -1;
  std::vector<Stranger> strangers_;
  std::map<std::string, Member> members_;
  JobState state_;
  Source source_;
  Phase phase_ = Phase::kGathering;
  bool soft_ = false;    // the generation ends after its step
  bool saves_ = false;   // and with a checkpoint
  bool renews_ = false;  // the running generation has other options
  bool asked_to_end_ = false;
  bool all_leave_ = false;  // all members have notice: the ending generation saves
  bool saved_ = false;      // it has saved, so they may leave
  int num_ranks_ = 0;
  std::vector<plan::HeldStage> stages_;  // of the generation's ranks
  bool changed_ = true;
  int tried_ = -1;      // number of members of the last failed planning
  int grown_for_ = -1;  // number of members for which growing was last considered
  int fruitless_ = 0;
  std::optional<Clock::time_point> returning_until_;
  int changes_ = 0;  // machines that joined, left or will leave since `begun_`
  std::optional<Clock::time_point> begun_;
  Clock::time_point sign_ = Clock::now(), asked_{}, joined_{}, looked_ = Clock::now();
  StepTimes times_;  // of the current generation
  SavePace pace_;
  bool single_copy_ = true;
  double told_interval_ = 0;
  std::int64_t last_saved_ = -1;  // steps done in the last reported checkpoint
  double measured_step_ = 0, usual_morph_s_ = kFirstMorph;
  ElasticEvent morph_;
  bool morph_told_ = true;
  std::string last_remark_;
  int arrivals_ = 0;
  JobOutcome outcome_;
};

}  // namespace nereus::launch
