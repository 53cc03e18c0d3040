// How ranks communicate: point-to-point messages and collectives of a group. One small interface
// over c10d with Gloo (CPUs) and NCCL (GPUs), and over shared memory for ranks of one host
// (including several ranks on one GPU, which NCCL does not support).
//
// Every operation is asynchronous: start it, compute, then wait for it:
//
//   auto comm = open_comm(options);                       // every rank calls it
//   Handle sent = comm->send(activations, next, tag);
//   auto data = comm->group({0, 2, 4});                   // the members call it, in the same order
//   Handle summed = data->all_reduce(gradients);
//   summed->wait();                                       // throws CommError
//
// On CPUs, and where tensors of a GPU travel through the host ("shared", "gloo"), wait() returns
// when the operation is done. With NCCL it only orders streams: the operation starts after all work
// that the calling thread's current stream has at that moment, and work given to the current stream
// after wait() runs after the operation. The host does not wait. A caller that reads a number on
// the host next calls wait_on_host(), which also throws if the number is not to be trusted because
// an operation before it failed.
//
// Rules. Tensors must be contiguous and must not change until wait() returns (the handle keeps them
// alive). All members must start the operations of a group in the same order. Operations of one
// group run in that order; different groups and messages run concurrently. A message is delivered
// to the receive() with the same tag. Messages in flight between the same two ranks should have
// different tags; messages with equal tags are matched in order. Tags must not be negative, and a
// rank must not send to itself. A send may block until its receive is started, and the handle of a
// message must be waited on before it is dropped. Reductions are deterministic: the same inputs on
// the same group give the same bits on every member, every time.
//
// Nothing waits forever. An operation that is not done within the time-out throws a CommError. The
// error names the operation, its number in the group, and the missing rank: the one that shows no
// sign of life, or else the one that is furthest behind. The time-out of a message starts with the
// call of wait(). The time-out of a collective restarts whenever a part of the data arrives. After
// a CommError the Comm is unusable. abort() makes the Comm unusable: every wait, on any thread,
// ends at once.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker/comm/board.hpp"
#include "worker/comm/lanes.hpp"
#include "worker/comm/range.hpp"
#include "worker/device/torch.hpp"

namespace nereus::worker {

struct CommError : std::runtime_error {
  CommError(const std::string& message, int missing)
      : std::runtime_error(message), missing_rank(missing) {}
  int missing_rank = -1;  // -1: unknown
};

class Pending {
 public:
  virtual ~Pending() = default;
  virtual void wait() = 0;  // a second call returns at once
  virtual void wait_on_host() { wait(); }
  // Whether wait() would return at once. May return false even if it would.
  virtual bool done() { return false; }
};
using Handle = std::shared_ptr<Pending>;

enum class Reduction { kSum, kMax };

// Bytes that a member received in all-gathers (the other members' pieces), or sent in
// reduce-scatters (the other members' pieces) and all-reduces (the whole buffer), by kind of
// collective.
struct Traffic {
  std::int64_t gathered = 0;
  std::int64_t scattered = 0;
  std::int64_t reduced = 0;
  std::int64_t num_gathers = 0;
  bool operator==(const Traffic&) const = default;
};

// What a stream did while operations ran beside it, in seconds, by what they are for: see
// Comm::take_stream_times().
enum class Purpose { kMessage, kReduce, kGather, kTeam };
struct StreamTimes {
  std::array<double, 4> busy{};  // from the start of operations, all of them awaited, to their end
  std::array<double, 4> held{};  // of that, while the stream that waits for them stood still
  double held_by(Purpose purpose) const { return held[static_cast<std::size_t>(purpose)]; }
};

class Group {
 public:
  virtual ~Group() = default;
  virtual const std::vector<int>& ranks() const = 0;
  virtual int index() const = 0;  // of this rank in ranks()
  int size() const { return static_cast<int>(ranks().size()); }
  const Traffic& traffic() const { return traffic_; }
  // Tensor-parallel ranks: waits for any operation count as Purpose::kTeam.
  virtual void count_as_team() { is_team_ = true; }

  virtual Handle all_reduce(at::Tensor flat, Reduction reduction = Reduction::kSum) = 0;
  // Afterwards flat[ranges[index()]] holds the sum over all members; the rest of flat is undefined.
  // Ranges must not overlap and must be the same on every member; they need not cover flat.
  virtual Handle reduce_scatter(at::Tensor flat, std::vector<Range> ranges) = 0;
  // Afterwards flat[ranges[i]] holds, for every i, what member i had there.
  virtual Handle all_gather(at::Tensor flat, std::vector<Range> ranges) = 0;

 protected:
  // Bytes of the other members' pieces.
  std::int64_t bytes_of_others(const at::Tensor& flat, const std::vector<Range>& ranges) const {
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i)
      if (static_cast<int>(i) != index()) elements += ranges[i].size();
    return elements * static_cast<std::int64_t>(flat.element_size());
  }
  Traffic traffic_{};
  bool is_team_ = false;
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int num_ranks() const = 0;
  virtual Handle send(at::Tensor tensor, int to, std::int64_t tag) = 0;
  virtual Handle receive(at::Tensor tensor, int from, std::int64_t tag) = 0;
  // Opens the connections of the groups made so far and of the lanes on which this rank will send
  // or receive, so that no operation of a step waits for a connection. All ranks call it at the
  // same point. Backends that connect all ranks from the start ignore it.
  virtual void connect(const std::vector<Lane>& lanes) { (void)lanes; }
  // The order of `ranks` is the order of the group; rank 0 need not come first. A single rank is a
  // group too.
  virtual std::shared_ptr<Group> group(const std::vector<int>& ranks) = 0;
  // Whether operations may wait on the device for others that the host has yet to start, so that
  // the host must not wait for the device inside a step (NCCL).
  virtual bool waits_on_device() const { return false; }
  // While on, operations do nothing: sums are this rank's values, what is received is zero.
  virtual void rehearse(bool on) { (void)on; }
  virtual std::string name() const = 0;  // "gloo", "nccl", "shared"
  // Where wait() only orders streams: the times of operations since the last call, of those that
  // are done. Zeros where the host waits.
  virtual StreamTimes take_stream_times() { return {}; }
  // May be called from any thread: all current and later operations throw CommError.
  virtual void abort() = 0;
};

struct CommOptions {
  std::string backend = "gloo";
  int rank = 0;
  int num_ranks = 1;
  std::string address = "127.0.0.1";  // address of rank 0
  int port = 0;
  std::string job = {};  // distinguishes jobs on one host ("shared")
  std::chrono::milliseconds timeout{60'000};
  // A value that must be the same on every rank (job/alike.hpp): ranks compare it when they meet.
  // Empty: no comparison.
  std::string card = {};
  // Where ranks publish their addresses ("gloo" only); null: a store that rank 0 hosts.
  std::shared_ptr<Board> board = {};
};

std::unique_ptr<Comm> open_comm(const CommOptions& options);

// For tests, the Comms of ranks that are threads of this process: the same backend, but the ranks
// meet in memory.
std::vector<std::unique_ptr<Comm>> open_local_comms(const std::string& backend, int num_ranks,
                                                    std::chrono::milliseconds timeout);

}  // namespace nereus::worker
