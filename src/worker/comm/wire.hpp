// Messages of plain bytes between two ranks: all that a backend must provide. Messages of tensors
// and collectives are implemented on top of it, for all backends (message_comm.hpp, ring.hpp).
//
// A message is delivered to the receive() with the same slot; messages with the same slot between
// the same two ranks are matched in order. A send may block until its receive is started. Memory
// must stay alive and unchanged until wait() returns or the parcel is destroyed.
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

// The other side is gone, or was missing until the time-out of the wire. The wire is unusable
// afterwards.
struct WireError : std::runtime_error {
  WireError(const std::string& message, int other_rank)
      : std::runtime_error(message), peer(other_rank) {}
  int peer;  // the rank at the other end
};

class Parcel {
 public:
  virtual ~Parcel() = default;
  virtual void wait() = 0;
  virtual bool done() { return false; }  // as in Pending
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
  // May be called from any thread: all current and later waits throw.
  virtual void abort() = 0;
};

}  // namespace nereus::worker
