// The memory that ranks of one host share: a page for each rank, and for each ordered pair of ranks
// a ring of bytes from one to the other.
//
// Rank 0 makes it under a name of the user and the job (shm_open), the others open it, and as soon
// as all are there the name is gone: nothing stays behind, however the processes end. What a killed
// start left under the name is recognised by its dead maker and replaced. All counters only grow;
// each has one writer.
//
//   auto memory = SharedMemory::meet(options, says);
//   Channel& channel = memory->channel(from, to);
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/comm/comm.hpp"

namespace nereus::worker {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kNotices = 256;

struct RankPage {
  std::atomic<std::uint32_t> joined = 0;
  std::atomic<std::uint32_t> closed = 0;
  alignas(kCacheLine) std::atomic<std::uint32_t> doorbell = 0;  // rung when there may be work
  std::atomic<std::uint32_t> sleeping = 0;                      // whether somebody listens
  alignas(kCacheLine) pid_t process = 0;
  char says[4096] = {};
};

// From one rank to another. `written - read` bytes lie in the ring, at written % size and before.
// A notice goes the other way: the slot of a receive that was started, so that a message starts
// only when there is a place for it, and none blocks those behind it.
struct Channel {
  alignas(kCacheLine) std::atomic<std::uint64_t> written = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> read = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> notices_written = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> notices_read = 0;
  std::uint64_t notices[kNotices] = {};
};

class SharedMemory {
 public:
  // Throws CommError that names the rank that did not come. `says`: see said().
  static std::shared_ptr<SharedMemory> meet(const CommOptions& options, const std::string& says);
  // For ranks that are threads.
  static std::shared_ptr<SharedMemory> make_local(int num_ranks);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  int num_ranks() const { return num_ranks_; }
  RankPage& page(int rank) const;
  Channel& channel(int from, int to) const;
  char* ring(int from, int to) const;
  std::size_t ring_bytes() const { return ring_bytes_; }
  std::vector<std::string> said() const;  // by every rank when it joined

  void join(int rank, const std::string& says);
  // Wakes a rank, or lets one sleep until it is woken after `heard` was its doorbell.
  void ring_doorbell(int rank) const;
  void sleep(int rank, std::uint32_t heard) const;

 private:
  SharedMemory(int num_ranks, std::size_t ring_bytes, void* memory);

  int num_ranks_;
  std::size_t ring_bytes_;
  char* memory_;
};

}  // namespace nereus::worker
