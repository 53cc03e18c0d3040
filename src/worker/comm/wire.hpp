// Messages of plain bytes between two ranks: all that a backend must bring. Messages of tensors and
// collectives are built on it once, for every backend (message_comm.hpp, ring.hpp).
//
// A message meets the receive of the same slot; those of one slot between two ranks meet in order.
// A send may wait until its receive is started. Memory stays alive and untouched until the wait
// returns or the parcel is gone.
//
//   auto parcel = wire.receive(buffer, bytes, from, slot);
//   parcel->wait();  // throws WireError
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace nereus::worker {

// The other side is gone, or did not come within the time-out of the wire. The wire is of no more
// use then.
struct WireError : std::runtime_error {
  WireError(const std::string& message, int other_rank)
      : std::runtime_error(message), peer(other_rank) {}
  int peer;  // the rank at the other end
};

class Parcel {
 public:
  virtual ~Parcel() = default;
  virtual void wait() = 0;
  virtual bool done() { return false; }  // as of Pending
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int num_ranks() const = 0;
  virtual std::unique_ptr<Parcel> send(const void* bytes, std::size_t size, int to,
                                       std::uint64_t slot) = 0;
  virtual std::unique_ptr<Parcel> receive(void* bytes, std::size_t size, int from,
                                          std::uint64_t slot) = 0;
  // From any thread: every wait throws, and so does whatever is started from now on.
  virtual void abort() = 0;
};

}  // namespace nereus::worker
