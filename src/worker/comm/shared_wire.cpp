#include "worker/comm/shared_wire.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace nereus::worker {
namespace {

using Clock = std::chrono::steady_clock;

// A piece is copied out while the next one is copied in.
constexpr std::size_t kPieceBytes = 128 << 10;

struct Head {
  std::uint64_t slot = 0;
  std::uint64_t size = 0;
};

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

struct SharedWire::Message {
  char* bytes = nullptr;  // null once its owner let go: the bytes still pass, from or to nowhere
  std::size_t size = 0;
  int peer = 0;
  std::uint64_t slot = 0;
  bool receives = false;
  std::size_t moved = 0;
  bool done = false;
  std::string complaint = {};

  char* next_bytes() const { return bytes == nullptr ? nullptr : bytes + moved; }
};

struct SharedWire::Peer {
  using Queue = std::deque<std::shared_ptr<Message>>;
  std::map<std::uint64_t, Queue> to_send, to_receive;  // by slot
  std::map<std::uint64_t, std::uint64_t> ready;        // receives that the other side started
  Queue sending;                                       // those that have a place there
  bool head_sent = false;                              // of the first of them
  std::deque<std::uint64_t> notices;                   // not yet told
  std::shared_ptr<Message> arriving;
};

class SharedWire::SharedParcel : public Parcel {
 public:
  SharedParcel(SharedWire& wire, std::shared_ptr<Message> message)
      : wire_(wire), message_(std::move(message)) {}
  ~SharedParcel() override {
    const std::lock_guard lock(wire_.copying_);
    message_->bytes = nullptr;
  }
  void wait() override;

 private:
  SharedWire& wire_;
  std::shared_ptr<Message> message_;
};

SharedWire::SharedWire(std::shared_ptr<SharedMemory> memory, int rank,
                       std::chrono::milliseconds timeout)
    : memory_(std::move(memory)),
      rank_(rank),
      timeout_(timeout),
      peers_(static_cast<std::size_t>(memory_->num_ranks())) {
  for (int other = 0; other < num_ranks(); ++other) {
    const pid_t process = memory_->page(other).process;
    const bool known = process > 0 && process != ::getpid();
    processes_.push_back(known ? static_cast<int>(::syscall(SYS_pidfd_open, process, 0)) : -1);
  }
  thread_ = std::thread([this] { run(); });
}

SharedWire::~SharedWire() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  memory_->ring_doorbell(rank_);
  thread_.join();
  memory_->page(rank_).closed.store(1);
  for (const int process : processes_)
    if (process >= 0) ::close(process);
}

std::unique_ptr<Parcel> SharedWire::send(const void* bytes, std::size_t size, int to,
                                         std::uint64_t slot) {
  return start(const_cast<char*>(static_cast<const char*>(bytes)), size, to, slot, false);
}

std::unique_ptr<Parcel> SharedWire::receive(void* bytes, std::size_t size, int from,
                                            std::uint64_t slot) {
  return start(static_cast<char*>(bytes), size, from, slot, true);
}

std::unique_ptr<Parcel> SharedWire::start(char* bytes, std::size_t size, int peer,
                                          std::uint64_t slot, bool receives) {
  auto message = std::make_shared<Message>(Message{bytes, size, peer, slot, receives});
  {
    const std::lock_guard lock(mutex_);
    new_messages_.push_back(message);
  }
  memory_->ring_doorbell(rank_);
  return std::make_unique<SharedParcel>(*this, std::move(message));
}

bool SharedWire::is_gone(int peer) const {
  if (memory_->page(peer).closed.load() != 0) return true;
  const int process = processes_[static_cast<std::size_t>(peer)];
  if (process < 0) return false;
  pollfd ended{process, POLLIN, 0};
  return ::poll(&ended, 1, 0) > 0;
}

void SharedWire::SharedParcel::wait() {
  using std::chrono::milliseconds;
  const auto begin = Clock::now();
  std::optional<Clock::time_point> gone;  // what it sent before may still arrive
  std::unique_lock lock(wire_.mutex_);
  while (!wire_.finished_.wait_for(lock, milliseconds(20), [&] { return message_->done; })) {
    const auto now = Clock::now();
    if (!gone && wire_.is_gone(message_->peer)) gone = now;
    if (gone && now - *gone > milliseconds(100))
      throw WireError(fmt::format("rank {} closed its side", message_->peer), message_->peer);
    if (now - begin > wire_.timeout_)
      throw WireError(fmt::format("nothing for {} ms", wire_.timeout_.count()), message_->peer);
  }
  if (!message_->complaint.empty()) throw WireError(message_->complaint, message_->peer);
}

void SharedWire::run() {
  RankPage& own = memory_->page(rank_);
  while (true) {
    const std::uint32_t heard = own.doorbell.load();
    {
      const std::lock_guard lock(mutex_);
      if (ending_) return;
    }
    take_new();
    if (!move_some()) memory_->sleep(rank_, heard);
  }
}

void SharedWire::take_new() {
  std::vector<std::shared_ptr<Message>> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(new_messages_);
  }
  for (auto& message : messages) {
    Peer& peer = peers_[static_cast<std::size_t>(message->peer)];
    if (message->receives) {
      peer.notices.push_back(message->slot);
      peer.to_receive[message->slot].push_back(std::move(message));
    } else {
      peer.to_send[message->slot].push_back(std::move(message));
    }
  }
}

bool SharedWire::move_some() {
  bool moved = false;
  for (int other = 0; other < num_ranks(); ++other) {
    if (other == rank_) continue;
    bool told = exchange_notices(other);
    told |= move_out(other);
    told |= move_in(other);
    if (told) memory_->ring_doorbell(other);
    moved |= told;
  }
  return moved;
}

bool SharedWire::exchange_notices(int other) {
  Peer& peer = peers_[static_cast<std::size_t>(other)];
  bool any = false;
  Channel& in = memory_->channel(other, rank_);
  std::uint64_t written = in.notices_written.load(std::memory_order_relaxed);
  while (!peer.notices.empty() &&
         written - in.notices_read.load(std::memory_order_acquire) < kNotices) {
    in.notices[written % kNotices] = peer.notices.front();
    peer.notices.pop_front();
    in.notices_written.store(++written, std::memory_order_release);
    any = true;
  }
  Channel& out = memory_->channel(rank_, other);
  std::uint64_t read = out.notices_read.load(std::memory_order_relaxed);
  while (read < out.notices_written.load(std::memory_order_acquire)) {
    ++peer.ready[out.notices[read % kNotices]];
    out.notices_read.store(++read, std::memory_order_release);
    any = true;
  }
  // Few slots are ever open at a time, so both maps are small.
  for (auto place = peer.ready.begin(); place != peer.ready.end();) {
    const auto waiting = peer.to_send.find(place->first);
    while (waiting != peer.to_send.end() && !waiting->second.empty() && place->second > 0) {
      peer.sending.push_back(std::move(waiting->second.front()));
      waiting->second.pop_front();
      --place->second;
    }
    if (waiting != peer.to_send.end() && waiting->second.empty()) peer.to_send.erase(waiting);
    place = place->second == 0 ? peer.ready.erase(place) : std::next(place);
  }
  return any;
}

bool SharedWire::move_out(int other) {
  Peer& peer = peers_[static_cast<std::size_t>(other)];
  if (peer.sending.empty()) return false;
  Channel& channel = memory_->channel(rank_, other);
  char* ring = memory_->ring(rank_, other);
  const std::size_t ring_bytes = memory_->ring_bytes();
  std::uint64_t written = channel.written.load(std::memory_order_relaxed);
  std::size_t free =
      ring_bytes - static_cast<std::size_t>(written - channel.read.load(std::memory_order_acquire));
  Message& message = *peer.sending.front();
  if (!peer.head_sent) {
    if (free < sizeof(Head)) return false;
    const Head head{message.slot, message.size};
    into_ring(ring, ring_bytes, written, reinterpret_cast<const char*>(&head), sizeof head);
    written += sizeof head;
    free -= sizeof head;
    peer.head_sent = true;
  } else if (free == 0) {
    return false;
  }
  const std::size_t size = std::min({kPieceBytes, free, message.size - message.moved});
  {
    const std::lock_guard lock(copying_);
    into_ring(ring, ring_bytes, written, message.next_bytes(), size);
  }
  message.moved += size;
  channel.written.store(written + size, std::memory_order_release);
  if (message.moved == message.size) {
    finish(message, "");
    peer.sending.pop_front();
    peer.head_sent = false;
  }
  return true;
}

bool SharedWire::move_in(int other) {
  Peer& peer = peers_[static_cast<std::size_t>(other)];
  Channel& channel = memory_->channel(other, rank_);
  const char* ring = memory_->ring(other, rank_);
  const std::size_t ring_bytes = memory_->ring_bytes();
  std::uint64_t read = channel.read.load(std::memory_order_relaxed);
  auto available = static_cast<std::size_t>(channel.written.load(std::memory_order_acquire) - read);
  if (available == 0) return false;
  if (!peer.arriving) {
    // A head is written in one go, so it is all there.
    Head head;
    out_of_ring(ring, ring_bytes, read, reinterpret_cast<char*>(&head), sizeof head);
    read += sizeof head;
    available -= sizeof head;
    const auto place = peer.to_receive.find(head.slot);
    peer.arriving = std::move(place->second.front());  // it was told of: there is one
    place->second.pop_front();
    if (place->second.empty()) peer.to_receive.erase(place);
    if (peer.arriving->size != head.size) {
      finish(*peer.arriving, fmt::format("a message of {} bytes came for a receive of {}",
                                         head.size, peer.arriving->size)
                                 .c_str());
      peer.arriving =
          std::make_shared<Message>(Message{nullptr, head.size, other, head.slot, true});
    }
  }
  Message& message = *peer.arriving;
  const std::size_t size = std::min({kPieceBytes, available, message.size - message.moved});
  {
    const std::lock_guard lock(copying_);
    out_of_ring(ring, ring_bytes, read, message.next_bytes(), size);
  }
  message.moved += size;
  channel.read.store(read + size, std::memory_order_release);
  if (message.moved == message.size) {
    if (!message.done) finish(message, "");
    peer.arriving.reset();
  }
  return true;
}

void SharedWire::finish(Message& message, const char* complaint) {
  {
    const std::lock_guard lock(mutex_);
    message.complaint = complaint;
    message.done = true;
  }
  finished_.notify_all();
}

}  // namespace nereus::worker
