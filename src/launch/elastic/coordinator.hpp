// The coordinator of an elastic job: who is there, which generation they form, and from which step
// it goes on. Varuna's manager (Athlur 2022) without its fixed waits, ssh and shared store.
//
// A generation is a plan on the members that are there. It ends
//   at once          a member's connection broke, it or its worker has shown no life for
//                    `dead_after_s`, or a worker lost another: the survivors are freed from what
//                    they wait in, and say how far they came
//   after the step   a member has notice, members came with whom it pays to go on (growth.hpp), or
//                    one is so slow that it pays to go on without it (step_times.hpp): all agree
//                    on the step
// Then all that is left is planned anew (`plan`), each member is told its rank, and from whose
// state of which step to go on: the commit rule (worker/execute/executor.hpp) makes that one step
// for all. A member that is voted out is told to kill its worker and may come again as a new one;
// whatever it says of an older generation is not heard. No clock of another machine is ever read.
//
// A job is done when its last state is a checkpoint: one that could not be written is a failure
// (elastic.not-saved), and the same call goes on from the last that is there.
//
// DIR/coordinator.json holds the generation, its members and its plan, DIR/steps.jsonl the steps:
// the same call after a crash goes on with the agents that call again, who trained on meanwhile.
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
  std::string folder;  // of the job: its state and its token, locked by whoever calls (JobLock)
  Address listen{"127.0.0.1", 0};
  std::string token;
  std::string build;
  std::int64_t steps = 0;   // of the job, in all
  std::int64_t known = 0;   // of them, that were done before, as far as anybody noted
  int first_members = 1;    // how many are waited for at the start
  double dead_after_s = 2;  // without a beat, of an agent or its worker
  double answer_s = 10;  // for a survivor to say how far it came; thrice a step where that is more
  double return_s = 10;  // for agents to call again after this program was started anew
  bool paces_saves = false;  // says when to save (save_pace.hpp); else the job does
  double probation_s = 60;   // until a slow machine is tried again, the first time
};

// A plan for so many members.
struct PlannedJob {
  job::Job job;
  int num_ranks = 1;  // members that it uses
  double step_s = 0;  // predicted
  std::string text;   // "pp 2 dp 3"
  int machines = 0;   // that it was planned for
};

struct ElasticEvent {
  std::string kind;        // "joined", "lost", "notice", "fenced", "refused", "slow", "morph", ..
  std::int64_t step = -1;  // steps done
  int rank = -1;
  std::string text;
  // Of a morph.
  std::int64_t generation = -1;
  int num_ranks = 0;
  double own_bytes = 0, peer_bytes = 0, saved_bytes = 0;
  double seconds = 0;  // from the sign that ended the last generation to the first step after
  std::int64_t lost_steps = 0;  // that had been done and were done again
};

struct CoordinatorHooks {
  // Nothing: they are not enough. Called with the number of members that may be used.
  std::function<std::optional<PlannedJob>(int num_members)> plan;
  std::function<void(const PlannedJob&)> begins{};       // a generation with this plan
  std::function<void(const job::Message& step)> step{};  // a rank's; each step's may come twice
  std::function<void(const ElasticEvent&)> event{};
  std::function<void(const std::string&)> say{};
  std::function<void(const Address&)> listening{};  // once, when agents may call
  // Whether a checkpoint after so many steps is on the disk; empty: nobody asks for one.
  std::function<bool(std::int64_t steps_done)> is_saved{};
};

struct JobOutcome {
  // 0 done, 2 or 5 failed, 4 trained but not saved, 10 asked to end, 75 saved and ended
  int exit_code = 0;
  std::optional<job::Message> failure{};
  std::int64_t steps_done = 0;
};

JobOutcome run_coordinator(const CoordinatorOptions& options, const CoordinatorHooks& hooks);

// DIR/token: read, or made anew, for its owner's eyes alone. Throws Errors.
std::string job_token(const std::string& folder);

}  // namespace nereus::launch
