// Memory shared by the ranks of one host: a page per rank, and for each ordered pair of ranks a
// ring buffer from one to the other.
//
// Rank 0 creates the memory under a name that contains the user and the job (shm_open), the others
// open it, and when all have opened it the name is removed: nothing remains, however the processes
// end. If a start was killed before the name was removed, the next start finds that the creator of
// the memory is dead, and replaces the memory. Counters never decrease, and each has only one
// writer.
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
  // Incremented when there may be work.
  alignas(kCacheLine) std::atomic<std::uint32_t> doorbell = 0;
  std::atomic<std::uint32_t> sleeping = 0;  // whether a thread waits for the doorbell
  alignas(kCacheLine) pid_t process = 0;
  char says[4096] = {};
};

// The channel from one rank to another. The ring buffer contains the `written - read` bytes before
// position written % size. Notices go in the opposite direction: a notice is the slot of a receive
// that was started. A message is only sent after its notice, so that no message blocks the messages
// behind it.
struct Channel {
  alignas(kCacheLine) std::atomic<std::uint64_t> written = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> read = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> notices_written = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> notices_read = 0;
  std::uint64_t notices[kNotices] = {};
};

class SharedMemory {
 public:
  // Throws a CommError that names the missing rank. said() returns what every rank `says`.
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
  std::vector<std::string> said() const;  // what every rank said when it joined

  void join(int rank, const std::string& says);
  // ring_doorbell() wakes a rank. sleep() waits, at most 0.1 s, until the rank's doorbell differs
  // from `heard`.
  void ring_doorbell(int rank) const;
  void sleep(int rank, std::uint32_t heard) const;

 private:
  SharedMemory(int num_ranks, std::size_t ring_bytes, void* memory);

  int num_ranks_;
  std::size_t ring_bytes_;
  char* memory_;
};

}  // namespace nereus::worker
