#include "worker/comm/shared_wire.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace nereus::worker {
namespace {

// A piece is copied out while the next one is copied in.
constexpr std::size_t kPieceBytes = 128 << 10;

// Copies to or from a ring at a position that only grows. A null address moves nothing.
void into_ring(char* ring, std::size_t ring_bytes, std::uint64_t at, const char* data,
               std::size_t size) {
  if (data == nullptr) return;
  const std::size_t place = at % ring_bytes, first = std::min(size, ring_bytes - place);
  std::memcpy(ring + place, data, first);
  std::memcpy(ring, data + first, size - first);
}

void out_of_ring(const char* ring, std::size_t ring_bytes, std::uint64_t at, char* data,
                 std::size_t size) {
  if (data == nullptr) return;
  const std::size_t place = at % ring_bytes, first = std::min(size, ring_bytes - place);
  std::memcpy(data, ring + place, first);
  std::memcpy(data + first, ring, size - first);
}

}  // namespace

SharedWire::SharedWire(std::shared_ptr<SharedMemory> memory, int rank,
                       std::chrono::milliseconds timeout)
    : MatchedWire(rank, memory->num_ranks(), timeout),
      memory_(std::move(memory)),
      head_sent_(static_cast<std::size_t>(memory_->num_ranks()), false) {
  for (int other = 0; other < num_ranks(); ++other) {
    const pid_t process = memory_->page(other).process;
    const bool known = process > 0 && process != ::getpid();
    processes_.push_back(known ? static_cast<int>(::syscall(SYS_pidfd_open, process, 0)) : -1);
  }
  thread_ = std::thread([this] { run(); });
}

SharedWire::~SharedWire() {
  end_thread();
  thread_.join();
  memory_->page(rank()).closed.store(1);
  for (const int process : processes_)
    if (process >= 0) ::close(process);
}

bool SharedWire::is_gone(int other) const {
  if (memory_->page(other).closed.load() != 0) return true;
  const int process = processes_[other];
  if (process < 0) return false;
  pollfd ended{process, POLLIN, 0};
  return ::poll(&ended, 1, 0) > 0;
}

void SharedWire::run() {
  while (true) {
    const std::uint32_t heard = memory_->page(rank()).doorbell.load();
    if (!take_new()) return;
    if (!move_some()) memory_->sleep(rank(), heard);
  }
}

bool SharedWire::move_some() {
  bool moved = false;
  for (int other = 0; other < num_ranks(); ++other) {
    if (other == rank()) continue;
    bool told = exchange_notices(other);
    told |= move_out(other);
    told |= move_in(other);
    if (told) memory_->ring_doorbell(other);
    moved |= told;
  }
  return moved;
}

bool SharedWire::exchange_notices(int other) {
  bool any = false;
  auto& untold = peer(other).notices;
  Channel& in = memory_->channel(other, rank());
  std::uint64_t written = in.notices_written.load(std::memory_order_relaxed);
  while (!untold.empty() && written - in.notices_read.load(std::memory_order_acquire) < kNotices) {
    in.notices[written % kNotices] = untold.front();
    untold.pop_front();
    in.notices_written.store(++written, std::memory_order_release);
    any = true;
  }
  Channel& out = memory_->channel(rank(), other);
  std::uint64_t read = out.notices_read.load(std::memory_order_relaxed);
  while (read < out.notices_written.load(std::memory_order_acquire)) {
    hear_notice(other, out.notices[read % kNotices]);
    out.notices_read.store(++read, std::memory_order_release);
    any = true;
  }
  return any;
}

bool SharedWire::move_out(int other) {
  Queue& sending = peer(other).sending;
  if (sending.empty()) return false;
  Channel& channel = memory_->channel(rank(), other);
  char* ring = memory_->ring(rank(), other);
  const std::size_t ring_bytes = memory_->ring_bytes();
  std::uint64_t written = channel.written.load(std::memory_order_relaxed);
  std::size_t free =
      ring_bytes - static_cast<std::size_t>(written - channel.read.load(std::memory_order_acquire));
  Message& message = *sending.front();
  if (!head_sent_[other]) {
    if (free < sizeof(MessageHead)) return false;
    const MessageHead head{message.slot, message.size};
    into_ring(ring, ring_bytes, written, reinterpret_cast<const char*>(&head), sizeof head);
    written += sizeof head;
    free -= sizeof head;
    head_sent_[other] = true;
  } else if (free == 0) {
    return false;
  }
  const std::size_t size = std::min({kPieceBytes, free, message.left()});
  {
    const std::lock_guard lock(copying_);
    into_ring(ring, ring_bytes, written, message.next_bytes(), size);
  }
  message.moved += size;
  channel.written.store(written + size, std::memory_order_release);
  if (message.moved == message.size) {
    finish(message);
    sending.pop_front();
    head_sent_[other] = false;
  }
  return true;
}

bool SharedWire::move_in(int other) {
  auto& arriving = peer(other).arriving;
  Channel& channel = memory_->channel(other, rank());
  const char* ring = memory_->ring(other, rank());
  const std::size_t ring_bytes = memory_->ring_bytes();
  std::uint64_t read = channel.read.load(std::memory_order_relaxed);
  auto available = static_cast<std::size_t>(channel.written.load(std::memory_order_acquire) - read);
  if (available == 0) return false;
  if (!arriving) {
    // A head is written in one go, so it is all there.
    MessageHead head;
    out_of_ring(ring, ring_bytes, read, reinterpret_cast<char*>(&head), sizeof head);
    read += sizeof head;
    available -= sizeof head;
    begin_arrival(other, head);
  }
  Message& message = *arriving;
  const std::size_t size = std::min({kPieceBytes, available, message.left()});
  {
    const std::lock_guard lock(copying_);
    out_of_ring(ring, ring_bytes, read, message.next_bytes(), size);
  }
  message.moved += size;
  channel.read.store(read + size, std::memory_order_release);
  if (message.moved == message.size) {
    if (!message.done) finish(message);
    arriving.reset();
  }
  return true;
}

}  // namespace nereus::worker
