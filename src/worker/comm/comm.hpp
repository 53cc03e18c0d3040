// How ranks talk: messages between two of them, and collectives of a group. One small interface
// over c10d with Gloo (CPUs), NCCL (GPUs), and memory that ranks of one host share (several ranks
// on one GPU, where NCCL refuses).
//
// Everything is started and then waited for, so that it runs beside computation:
//
//   auto comm = open_comm(options);                       // every rank calls it
//   Handle sent = comm->send(activations, next, tag);
//   auto data = comm->group({0, 2, 4});                   // the members call it, in the same order
//   Handle summed = data->all_reduce(gradients);
//   summed->wait();                                       // throws CommError
//
// Rules. Tensors are contiguous and stay untouched until the wait returns (the handle keeps them
// alive). Members start the same operations of a group in the same order; operations of one group
// run in that order, those of different groups and messages beside each other. A message meets the
// receive of the same tag; tags of messages that are on their way between two ranks at a time
// differ, else they meet in order. Tags are not negative; a rank sends nothing to itself. A send
// may wait until its receive is started, and a handle of a message is waited for before it is
// dropped. Sums are deterministic: the same inputs on the same group give the same bits on every
// member, every time.
//
// Nothing waits without an end. An operation that is not done within the time-out throws a
// CommError that names the operation, its number in the group, and the rank that is missing: the
// one that shows no life, or else the one that is furthest behind. A message counts its time from
// the call of wait(), a collective anew from each part that arrives. After a CommError the Comm is
// of no more use. abort() makes one of it: every wait, on any thread, ends at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker/comm/board.hpp"
#include "worker/comm/range.hpp"
#include "worker/device/torch.hpp"

namespace nereus::worker {

struct CommError : std::runtime_error {
  CommError(const std::string& message, int missing)
      : std::runtime_error(message), missing_rank(missing) {}
  int missing_rank = -1;  // -1: not known
};

class Pending {
 public:
  virtual ~Pending() = default;
  virtual void wait() = 0;  // a second call returns at once
  // Whether wait() would return at once; may say no too often.
  virtual bool done() { return false; }
};
using Handle = std::shared_ptr<Pending>;

enum class Reduction { kSum, kMax };

// Bytes that a member brought together (all-gather: of others' pieces) or gave away summed
// (reduce-scatter: the pieces that are not its own; all-reduce: the buffer), by kind.
struct Traffic {
  std::int64_t gathered = 0;
  std::int64_t scattered = 0;
  std::int64_t reduced = 0;
  std::int64_t num_gathers = 0;
  bool operator==(const Traffic&) const = default;
};

class Group {
 public:
  virtual ~Group() = default;
  virtual const std::vector<int>& ranks() const = 0;
  virtual int index() const = 0;  // of this rank among them
  int size() const { return static_cast<int>(ranks().size()); }
  const Traffic& traffic() const { return traffic_; }

  virtual Handle all_reduce(at::Tensor flat, Reduction reduction = Reduction::kSum) = 0;
  // Afterwards flat[ranges[index()]] holds the sum over all members; the rest of flat is undefined.
  // Ranges do not overlap and are the same on every member; they need not cover flat.
  virtual Handle reduce_scatter(at::Tensor flat, std::vector<Range> ranges) = 0;
  // Afterwards flat[ranges[i]] holds what member i had there, for every i.
  virtual Handle all_gather(at::Tensor flat, std::vector<Range> ranges) = 0;

 protected:
  // Of pieces that are not this member's.
  std::int64_t bytes_of_others(const at::Tensor& flat, const std::vector<Range>& ranges) const {
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i)
      if (static_cast<int>(i) != index()) elements += ranges[i].size();
    return elements * static_cast<std::int64_t>(flat.element_size());
  }
  Traffic traffic_{};
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int num_ranks() const = 0;
  virtual Handle send(at::Tensor tensor, int to, std::int64_t tag) = 0;
  virtual Handle receive(at::Tensor tensor, int from, std::int64_t tag) = 0;
  // Rank 0 first or not: the order of `ranks` is the order of the group. One member alone is a
  // group too.
  virtual std::shared_ptr<Group> group(const std::vector<int>& ranks) = 0;
  virtual std::string name() const = 0;  // "gloo", "nccl", "shared"
  // From any thread: all that waits, and all that is started from now on, throws CommError.
  virtual void abort() = 0;
};

struct CommOptions {
  std::string backend = "gloo";
  int rank = 0;
  int num_ranks = 1;
  std::string address = "127.0.0.1";  // of rank 0
  int port = 0;
  std::string job = {};  // tells jobs of one host apart ("shared")
  std::chrono::milliseconds timeout{60'000};
  // What must be the same on every rank (job/alike.hpp); compared when they meet. Empty: nothing.
  std::string card = {};
  // Where ranks tell each other their addresses; none: a store that rank 0 hosts. "gloo" alone.
  std::shared_ptr<Board> board = {};
};

std::unique_ptr<Comm> open_comm(const CommOptions& options);

// Ranks as threads of this process, for tests: the same backend, meeting in memory.
std::vector<std::unique_ptr<Comm>> open_local_comms(const std::string& backend, int num_ranks,
                                                    std::chrono::milliseconds timeout);

}  // namespace nereus::worker
