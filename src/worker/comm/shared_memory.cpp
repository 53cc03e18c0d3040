#include "worker/comm/shared_memory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <cstring>
#include <new>
#include <thread>

#include "base/error.hpp"

namespace nereus::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMagic = 0x6e65726575730002;  // changes with the layout
constexpr std::size_t kRingBytes = 1 << 20;           // fits a core's own cache
constexpr std::size_t kLeastRingBytes = 64 << 10;

struct alignas(kCacheLine) Header {
  std::atomic<std::uint64_t> magic = 0;  // last: all is ready
  std::uint64_t ring_bytes = 0;
  std::int32_t num_ranks = 0;
  pid_t maker = 0;
};

constexpr std::size_t kPageOffset = sizeof(Header);

std::size_t channel_offset(int num_ranks) {
  return kPageOffset + static_cast<std::size_t>(num_ranks) * sizeof(RankPage);
}

std::size_t pairs(int num_ranks) {
  return static_cast<std::size_t>(num_ranks) * static_cast<std::size_t>(num_ranks);
}

std::size_t ring_offset(int num_ranks) {
  const std::size_t end = channel_offset(num_ranks) + pairs(num_ranks) * sizeof(Channel);
  return (end + 4095) / 4096 * 4096;
}

std::size_t total_bytes(int num_ranks, std::size_t ring_bytes) {
  return ring_offset(num_ranks) + pairs(num_ranks) * ring_bytes;
}

[[noreturn]] void throw_memory_error(const std::string& what) {
  throw_environment_error("comm.shared-memory", fmt::format("{}: {}", what, std::strerror(errno)),
                          "use the backend \"gloo\"");
}

std::string name_of(const CommOptions& options) {
  std::string job =
      options.job.empty() ? fmt::format("port-{}", options.port) : options.job.substr(0, 100);
  for (char& c : job)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  return fmt::format("/nereus-{}-{}", ::getuid(), job);
}

// Containers often have 64 MiB; memory that is not there would kill us when it is written to.
std::size_t fitting_ring_bytes(int num_ranks, int descriptor) {
  struct statvfs space = {};
  if (::fstatvfs(descriptor, &space) != 0) return kRingBytes;
  const std::size_t free = static_cast<std::size_t>(space.f_bavail) * space.f_bsize;
  std::size_t ring_bytes = kRingBytes;
  while (ring_bytes > kLeastRingBytes && total_bytes(num_ranks, ring_bytes) > free) ring_bytes /= 2;
  if (total_bytes(num_ranks, ring_bytes) > free)
    throw_environment_error(
        "comm.shared-memory",
        fmt::format("{} ranks need {} MiB of shared memory, {} MiB are free", num_ranks,
                    (total_bytes(num_ranks, ring_bytes) >> 20) + 1, free >> 20),
        "use the backend \"gloo\", or give /dev/shm more");
  return ring_bytes;
}

void lay_out(void* memory, int num_ranks, std::size_t ring_bytes) {
  char* base = static_cast<char*>(memory);
  auto* header = new (base) Header;
  header->ring_bytes = ring_bytes;
  header->num_ranks = num_ranks;
  header->maker = ::getpid();
  for (int i = 0; i < num_ranks; ++i)
    new (base + kPageOffset + static_cast<std::size_t>(i) * sizeof(RankPage)) RankPage;
  for (std::size_t i = 0; i < pairs(num_ranks); ++i)
    new (base + channel_offset(num_ranks) + i * sizeof(Channel)) Channel;
  header->magic.store(kMagic, std::memory_order_release);
}

void* map(int descriptor, std::size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) throw_memory_error("no shared memory");
  return memory;
}

struct Mapping {
  void* memory = nullptr;
  std::size_t ring_bytes = 0;
  ino_t node = 0;
};

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

// A name that goes with the attempt to meet, however it ends.
struct Name {
  const std::string text;
  const bool owned;
  ~Name() {
    if (owned) ::shm_unlink(text.c_str());
  }
};

Mapping make(const std::string& name, int num_ranks) {
  ::shm_unlink(name.c_str());  // of a start that was killed
  const Descriptor file{::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600)};
  if (file.value < 0) throw_memory_error(fmt::format("no shared memory {}", name));
  const std::size_t ring_bytes = fitting_ring_bytes(num_ranks, file.value);
  const std::size_t size = total_bytes(num_ranks, ring_bytes);
  if (::ftruncate(file.value, static_cast<off_t>(size)) != 0)
    throw_memory_error("no shared memory");
  struct stat status = {};
  ::fstat(file.value, &status);
  Mapping mapping{map(file.value, size), ring_bytes, status.st_ino};
  lay_out(mapping.memory, num_ranks, ring_bytes);
  return mapping;
}

// Empty until rank 0 has created it.
Mapping try_open(const std::string& name, int num_ranks) {
  const Descriptor file{::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0600)};
  struct stat status = {};
  if (file.value < 0 || ::fstat(file.value, &status) != 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < ring_offset(num_ranks)) return {};
  Mapping mapping{map(file.value, size), 0, status.st_ino};
  const auto* header = static_cast<const Header*>(mapping.memory);
  if (header->magic.load(std::memory_order_acquire) == kMagic && header->num_ranks == num_ranks &&
      total_bytes(num_ranks, header->ring_bytes) == size &&
      (::kill(header->maker, 0) == 0 || errno != ESRCH)) {
    mapping.ring_bytes = header->ring_bytes;
    return mapping;
  }
  ::munmap(mapping.memory, size);
  return {};
}

// Whether the name now refers to other memory: the joined memory was a leftover.
bool was_replaced(const std::string& name, ino_t node) {
  const Descriptor file{::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0600)};
  struct stat status = {};
  return file.value >= 0 && ::fstat(file.value, &status) == 0 && status.st_ino != node;
}

[[noreturn]] void throw_missing(const CommOptions& options, int missing) {
  throw CommError(fmt::format("rank {}: start failed: rank {} did not come within {} ms",
                              options.rank, missing, options.timeout.count()),
                  missing);
}

int first_absent(const SharedMemory& memory) {
  for (int rank = 0; rank < memory.num_ranks(); ++rank)
    if (memory.page(rank).joined.load(std::memory_order_acquire) == 0) return rank;
  return -1;
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  // Not FUTEX_PRIVATE, because the other side is another process.
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout,
                   nullptr, 0);
}

}  // namespace

SharedMemory::SharedMemory(int num_ranks, std::size_t ring_bytes, void* memory)
    : num_ranks_(num_ranks), ring_bytes_(ring_bytes), memory_(static_cast<char*>(memory)) {}

SharedMemory::~SharedMemory() { ::munmap(memory_, total_bytes(num_ranks_, ring_bytes_)); }

std::shared_ptr<SharedMemory> SharedMemory::meet(const CommOptions& options,
                                                 const std::string& says) {
  const Name named{name_of(options), options.rank == 0};
  const std::string& name = named.text;
  const auto deadline = Clock::now() + options.timeout;
  constexpr std::chrono::milliseconds kPause{5};
  while (true) {
    Mapping mapping;
    if (options.rank == 0) {
      mapping = make(name, options.num_ranks);
    } else {
      while (mapping.memory == nullptr) {
        if (Clock::now() > deadline) throw_missing(options, 0);
        mapping = try_open(name, options.num_ranks);
        if (mapping.memory == nullptr) std::this_thread::sleep_for(kPause);
      }
    }
    std::shared_ptr<SharedMemory> memory(
        new SharedMemory(options.num_ranks, mapping.ring_bytes, mapping.memory));
    memory->join(options.rank, says);
    int absent = 0;
    bool replaced = false;
    while ((absent = first_absent(*memory)) >= 0 && !replaced && Clock::now() < deadline) {
      std::this_thread::sleep_for(kPause);
      replaced = options.rank != 0 && was_replaced(name, mapping.node);
    }
    if (absent < 0) return memory;
    if (!replaced) throw_missing(options, absent);
  }
}

std::shared_ptr<SharedMemory> SharedMemory::make_local(int num_ranks) {
  const std::size_t size = total_bytes(num_ranks, kRingBytes);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw_memory_error("no shared memory");
  lay_out(memory, num_ranks, kRingBytes);
  return std::shared_ptr<SharedMemory>(new SharedMemory(num_ranks, kRingBytes, memory));
}

RankPage& SharedMemory::page(int rank) const {
  return reinterpret_cast<RankPage*>(memory_ + kPageOffset)[rank];
}

Channel& SharedMemory::channel(int from, int to) const {
  return reinterpret_cast<Channel*>(memory_ + channel_offset(num_ranks_))[from * num_ranks_ + to];
}

char* SharedMemory::ring(int from, int to) const {
  return memory_ + ring_offset(num_ranks_) +
         static_cast<std::size_t>(from * num_ranks_ + to) * ring_bytes_;
}

std::vector<std::string> SharedMemory::said() const {
  std::vector<std::string> all;
  for (int rank = 0; rank < num_ranks_; ++rank) all.emplace_back(page(rank).says);
  return all;
}

void SharedMemory::join(int rank, const std::string& says) {
  RankPage& own = page(rank);
  NEREUS_CHECK(says.size() < sizeof own.says, "what a rank says fits its page");
  own.process = ::getpid();
  std::memcpy(own.says, says.c_str(), says.size() + 1);
  own.joined.store(1, std::memory_order_release);
}

// The bell is rung before `sleeping` is read, and `sleeping` is set before the bell is read again,
// all in one order (seq_cst). So one of the two threads sees the other's write.
void SharedMemory::ring_doorbell(int rank) const {
  RankPage& other = page(rank);
  other.doorbell.fetch_add(1);
  if (other.sleeping.load() != 0) futex(other.doorbell, FUTEX_WAKE, 1, nullptr);
}

void SharedMemory::sleep(int rank, std::uint32_t heard) const {
  RankPage& own = page(rank);
  own.sleeping.store(1);
  // The time limit is a second line of defence, against a process that died between the two.
  const timespec limit{0, 100'000'000};
  if (own.doorbell.load() == heard) futex(own.doorbell, FUTEX_WAIT, heard, &limit);
  own.sleeping.store(0);
}

}  // namespace nereus::worker
