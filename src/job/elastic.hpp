// What coordinator, agents and workers of an elastic job say to each other: one JSON object each.
// Between an agent and its worker a line on a pipe, between agent and coordinator a frame
// (launch/elastic/connection.hpp). Agents hand on what is for others.
//
//   coordinator -> worker   generation, end, end-after, save-after, known, note
//   coordinator -> agent    leave, refuse, restart
//   worker -> coordinator   said (a job::Message), note, started, ended, remark
//   agent -> coordinator    hello, beat, notice, lost
//
// A generation is a set of ranks with a plan, numbered upwards. What belongs to one carries its
// number, and what comes late, of one that is over, is not for the receiver.
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
  kHello,       // an agent: who it is, and what its worker holds
  kBeat,        // it lives: how long its worker has been silent
  kNotice,      // its machine will go: hand over and let it leave
  kLost,        // its worker ended by itself
  kGeneration,  // be this rank of that job, from that state
  kEnd,         // the generation is over: break off and say what you hold
  kEndAfter,    // the same after the step under way, all ranks together
  kSaveAfter,   // save after the step under way, all ranks together; said to rank 0 alone
  kKnown,    // a checkpoint of `done` steps was heard of, and is counted on; said to rank 0 alone
  kNote,     // of a generation's board: addresses
  kLeave,    // no longer wanted: why
  kRefuse,   // never was: why
  kRestart,  // out of the job with what you hold; come again as a new one
  kSaid,     // a worker's own message
  kStarted,  // its state is complete: where it came from
  kEnded,    // it is out of the generation: what it holds
  kRemark,   // what a user should know, and nothing that ends the job
};

struct ElasticMessage {
  ElasticKind kind = ElasticKind::kBeat;
  std::int64_t generation = -1;
  // kHello
  std::string name = {};
  std::string build = {};
  std::string host = {};
  // kBeat: seconds since the worker's last sign of life; kNotice: until the machine goes;
  // kStarted: from the command to a complete state
  double seconds = 0;
  // kGeneration
  int rank = -1;  // num_ranks or more: a helper, which gives what it holds and is done
  int num_ranks = 0;
  int num_present = 0;          // with helpers
  std::string job = {};         // job_to_json()
  std::string address = {};     // towards which a rank finds its own address
  std::int64_t next_held = -1;  // the generation whose state is gone on with; -1: none
  // Steps that the coordinator knows of: a checkpoint of a later one was written by ranks that were
  // voted out, and is not read; -1: any is.
  std::int64_t most_done = -1;
  // Steps whose updates are in the state: kGeneration (to be brought to), kStarted, kEnded, kKnown
  std::int64_t done = 0;
  double gradient_norm = 0;  // of step `done` - 1
  // kEnded, kHello
  std::int64_t held = -1;    // of which generation the state is
  std::int64_t filled = -1;  // one that it could hold instead: complete here, not yet everywhere
  std::int64_t filled_done = 0;
  bool arrived = false;   // the sums of step `done` are here
  bool agreed = false;    // all ranks ended after the same step
  bool complete = false;  // and that was the job's last
  int missing_rank = -1;
  // kStarted
  double own_bytes = 0;
  double peer_bytes = 0;
  double saved_bytes = 0;        // from a checkpoint
  std::int64_t saved_step = -1;  // of that checkpoint; -1: none was read
  // kNote
  std::string key = {};
  std::string note = {};  // hexadecimal
  // kSaid: a line of job::Message; else a reason or a remark
  std::string text = {};
  bool operator==(const ElasticMessage&) const = default;
};

std::string to_line(const ElasticMessage& message);   // without the newline
ElasticMessage parse_elastic(std::string_view line);  // throws Errors
std::string_view to_string(ElasticKind kind);         // "end-after"

std::string to_hex_text(std::string_view bytes);
std::string from_hex_text(std::string_view text);  // throws Errors

}  // namespace nereus::job
