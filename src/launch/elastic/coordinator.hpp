// The coordinator of an elastic job: it decides which members form a generation, and from which
// step the generation continues. Like Varuna's manager (Athlur 2022), but without fixed waits
// and ssh.
//
// A generation is a plan on the available members. It ends
//   at once          if a member's connection broke, if it or its worker has sent no heartbeat for
//                    `dead_after_s`, or if a worker lost its connection to another: the waits of
//                    the survivors are aborted, and they report their last step
//   after the step   if a member was warned that its machine will be taken away, if members joined
//                    and the gain outweighs the cost of changing the plan (growth.hpp), or if a
//                    member is so slow that the others are faster without it, including that cost
//                    (step_times.hpp): all agree on the step
// Then the job is planned again for the remaining members (`plan`). Each member is told its rank,
// the step to continue from, and which member has the state of that step. The commit rule
// (worker/execute/executor.hpp) ensures that all members can continue from this step. A member that
// was dropped is told to kill its worker, and may join again as a new member; its messages for
// older generations are ignored. Clocks of other machines are never used.
//
// A job is done when its final state is saved. If the last checkpoint cannot be written, the job
// fails (elastic.not-saved), and the same command continues from the last checkpoint.
//
// DIR/coordinator.json stores the generation, its members and its plan, DIR/steps.jsonl the steps.
// After a crash of the coordinator the same command continues with the agents that reconnect; they
// have kept training meanwhile.
//
//   CoordinatorOptions options{.folder = "run", .listen = {"0.0.0.0", 29400}, .token = token};
//   JobOutcome outcome = run_coordinator(options, hooks);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/job.hpp"
#include "job/message.hpp"
#include "launch/elastic/connection.hpp"

namespace nereus::launch {

struct CoordinatorOptions {
  std::string folder;  // of the job: its state and its token, locked by the caller (JobLock)
  Address listen{"127.0.0.1", 0};
  std::string token;
  std::string build;
  std::int64_t steps = 0;   // of the job, in total
  std::int64_t known = 0;   // of these, done before this start
  int first_members = 1;    // how many to wait for at the start
  double dead_after_s = 2;  // without a heartbeat, of an agent or its worker
  // How long survivors have to report their last step; never less than the time of three steps.
  double answer_s = 10;
  double return_s = 10;      // for agents to connect again after a restart of this program
  bool paces_saves = false;  // chooses when to save (save_pace.hpp); else the job's settings do
  double probation_s = 60;   // until a slow machine is tried again for the first time
};

// A plan for a number of members.
struct PlannedJob {
  job::Job job;
  int num_ranks = 1;  // number of members that it uses
  double step_s = 0;  // predicted
  std::string text;   // "pp 2 dp 3"
  int machines = 0;   // number that it was planned for
};

struct ElasticEvent {
  std::string
      kind;  // "joined", "lost", "notice", "fenced" (dropped), "refused", "slow", "morph", ..
  std::int64_t step = -1;  // number of steps done
  int rank = -1;
  std::string text;
  // For a morph.
  std::int64_t generation = -1;
  int num_ranks = 0;
  double own_bytes = 0, peer_bytes = 0, saved_bytes = 0;
  double seconds = 0;  // from the event that ended the last generation to the first step after it
  std::int64_t lost_steps = 0;  // number of steps that were done twice
};

struct CoordinatorHooks {
  // Returns nothing if there are too few members. Called with the number of available members.
  std::function<std::optional<PlannedJob>(int num_members)> plan;
  std::function<void(const PlannedJob&)> begins{};  // a generation with this plan begins
  // Called for every step of every rank; a step may be reported twice.
  std::function<void(const job::Message& step)> step{};
  std::function<void(const ElasticEvent&)> event{};
  std::function<void(const std::string&)> say{};
  std::function<void(const Address&)> listening{};  // called once, when agents may connect
  // Whether a checkpoint after that many steps is on the disk; empty: never asked.
  std::function<bool(std::int64_t steps_done)> is_saved{};
};

struct JobOutcome {
  // 0 done, 2 or 5 failed, 4 trained but not saved, 10 asked to end, 75 saved and ended.
  int exit_code = 0;
  std::optional<job::Message> failure{};
  std::int64_t steps_done = 0;
};

JobOutcome run_coordinator(const CoordinatorOptions& options, const CoordinatorHooks& hooks);

// Reads DIR/token, or creates it, readable only by its owner. Throws Errors.
std::string job_token(const std::string& folder);

}  // namespace nereus::launch
