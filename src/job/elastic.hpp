// The messages between coordinator, agents and workers of an elastic job: one JSON object each.
// Between an agent and its worker a message is a line on a pipe, between agent and coordinator a
// frame (launch/elastic/connection.hpp). Agents forward messages to their destination.
//
//   coordinator -> worker   generation, end, end-after, save-after, known, note
//   coordinator -> agent    leave, refuse, restart
//   worker -> coordinator   said (a job::Message), note, started, ended, remark
//   agent -> coordinator    hello, beat, notice, lost
//
// A generation is a set of ranks with a plan; generations are numbered. A message of a generation
// has its number. Messages that arrive late, for a generation that has ended, are ignored.
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
  kNotice,      // its machine will be taken away: hand over and let it leave
  kLost,        // its worker ended
  kGeneration,  // become this rank of that job, with that state
  kEnd,         // the generation has ended: stop, and report what you hold
  kEndAfter,    // stop after the current step, all ranks together
  kSaveAfter,   // save after the current step, all ranks together; only sent to rank 0
  kKnown,       // a checkpoint of `done` steps was reported and counts; only sent to rank 0
  kNote,        // for a generation's board: addresses
  kLeave,       // leave the job: why
  kRefuse,      // rejected: why
  kRestart,     // you are out of the job with what you hold; join again as a new member
  kSaid,        // a message of the worker
  kStarted,     // its state is complete: where it came from
  kEnded,       // it has left the generation: what it holds
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
  std::string address = {};     // a rank uses its own address on the route to this one
  std::int64_t next_held = -1;  // the generation whose state continues; -1: none
  // Steps that the coordinator knows. A checkpoint of a later step is ignored, because ranks that
  // were voted out wrote it. -1: use any checkpoint.
  std::int64_t most_done = -1;
  // Steps whose updates are in the state. kGeneration: after it is brought up to date. Also
  // kStarted, kEnded, kKnown.
  std::int64_t done = 0;
  double gradient_norm = 0;  // of step `done` - 1
  // kEnded, kHello
  std::int64_t held = -1;  // the generation of its state
  // A state that it could hold instead: complete here, but not yet on all ranks.
  std::int64_t filled = -1;
  std::int64_t filled_done = 0;
  bool arrived = false;   // the reductions of step `done` are complete here
  bool agreed = false;    // all ranks ended after the same step
  bool complete = false;  // and it was the job's last step
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
