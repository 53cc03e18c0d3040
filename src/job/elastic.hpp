// The messages between coordinator, agents and workers of an elastic job: one JSON object each.
// Between an agent and its worker a message is a line on a pipe, between agent and coordinator a
// frame (launch/elastic/connection.hpp). Agents forward messages to their destination.
//
//   coordinator -> worker   generation, end, end-after, save-after, known, note
//   coordinator -> agent    leave, refuse, restart
//   worker -> coordinator   said (a job::Message), note, started, ended, remark
//   agent -> coordinator    hello, beat, notice, lost
//
// A generation is a set of ranks with a plan; generations are numbered. A message that belongs to a
// generation contains its number. Messages that arrive late, for a generation that has ended, are
// ignored.
//
//   ElasticMessage m; m.kind = ElasticKind::kEnd; m.generation = 4;
//   write(fd, to_line(m) + "\n");
//   ElasticMessage n = parse_elastic(line);            // throws Errors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nereus::job {

enum class ElasticKind {
  kHello,       // an agent: its name, and what its worker holds
  kBeat,        // heartbeat: how long its worker has been silent
  kNotice,      // the agent's machine will be taken away: plan without it, and let it leave
  kLost,        // the agent's worker ended
  kGeneration,  // become this rank of that job, with that state
  kEnd,         // the generation has ended: stop, and report what you hold
  kEndAfter,    // stop after the current step, all ranks together
  kSaveAfter,   // save after the current step, all ranks together; only sent to rank 0
  kKnown,       // the coordinator knows of a checkpoint of `done` steps; only sent to rank 0
  kNote,        // for a generation's board: addresses
  kLeave,       // leave the job; `text`: why
  kRefuse,      // the agent is rejected; `text`: why
  kRestart,     // the job continues without you and your state; join again as a new member
  kSaid,        // a message of the worker
  kStarted,     // the worker's state is complete: where the state came from
  kEnded,       // the worker has left the generation: what it holds
  kRemark,      // something a user should know that does not end the job
};

struct ElasticMessage {
  ElasticKind kind = ElasticKind::kBeat;
  std::int64_t generation = -1;
  // kHello
  std::string name = {};
  std::string build = {};
  std::string host = {};
  // kBeat: seconds since the worker's last message. kNotice: seconds until the machine is taken
  // away. kStarted: seconds from the command to a complete state.
  double seconds = 0;
  // kGeneration
  int rank = -1;  // num_ranks or more: a helper, which only sends what it holds
  int num_ranks = 0;
  int num_present = 0;          // including helpers
  std::string job = {};         // job_to_json()
  std::string address = {};     // each rank uses its own address on the route to this one
  std::int64_t next_held = -1;  // the generation whose state this one continues; -1: none
  // Number of steps that the coordinator knows to be done. A checkpoint of a later step is ignored,
  // because ranks that the job had dropped wrote it. -1: use any checkpoint.
  std::int64_t most_done = -1;
  // Number of steps whose updates are in the state; also used by kStarted, kEnded and kKnown. In
  // kGeneration: after the state is brought up to date.
  std::int64_t done = 0;
  double gradient_norm = 0;  // of step `done` - 1
  // kEnded, kHello
  std::int64_t held = -1;  // the generation of its state
  // The generation of a state that the worker could hold instead: complete on this rank, but not
  // yet on all ranks.
  std::int64_t filled = -1;
  std::int64_t filled_done = 0;
  bool arrived = false;   // the reductions of step `done` are complete here
  bool agreed = false;    // all ranks ended after the same step
  bool complete = false;  // `agreed`, and that was the job's last step
  int missing_rank = -1;
  // kStarted
  double own_bytes = 0;
  double peer_bytes = 0;
  double saved_bytes = 0;        // read from a checkpoint
  std::int64_t saved_step = -1;  // of that checkpoint; -1: none was read
  // kNote
  std::string key = {};
  std::string note = {};  // hexadecimal
  // kSaid: a line with a job::Message; otherwise a reason or a remark
  std::string text = {};
  bool operator==(const ElasticMessage&) const = default;
};

std::string to_line(const ElasticMessage& message);   // without the newline
ElasticMessage parse_elastic(std::string_view line);  // throws Errors
std::string_view to_string(ElasticKind kind);         // "end-after"

std::string to_hex_text(std::string_view bytes);
std::string from_hex_text(std::string_view text);  // throws Errors

}  // namespace nereus::job
