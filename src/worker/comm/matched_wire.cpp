#include "worker/comm/matched_wire.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace nereus::worker {

class MatchedWire::MatchedParcel : public Parcel {
 public:
  MatchedParcel(MatchedWire& wire, std::shared_ptr<Message> message)
      : wire_(wire), message_(std::move(message)) {}
  ~MatchedParcel() override {
    const std::lock_guard lock(wire_.copying_);
    message_->bytes = nullptr;
  }

  void wait() override {
    using Clock = std::chrono::steady_clock;
    using std::chrono::milliseconds;
    const auto begin = Clock::now();
    std::optional<Clock::time_point> gone;  // what it sent before may still arrive
    std::unique_lock lock(wire_.mutex_);
    while (!wire_.finished_.wait_for(lock, milliseconds(20), [&] { return message_->done; })) {
      if (wire_.aborted_) throw WireError("told to end", message_->peer);
      const auto now = Clock::now();
      if (!gone && wire_.is_gone(message_->peer)) gone = now;
      if (gone && now - *gone > milliseconds(100))
        throw WireError(fmt::format("rank {} closed its side", message_->peer), message_->peer);
      if (now - begin > wire_.timeout_)
        throw WireError(fmt::format("nothing for {} ms", wire_.timeout_.count()), message_->peer);
    }
    if (!message_->complaint.empty()) throw WireError(message_->complaint, message_->peer);
  }

  bool done() override {
    const std::lock_guard lock(wire_.mutex_);
    return message_->done;
  }

 private:
  MatchedWire& wire_;
  std::shared_ptr<Message> message_;
};

MatchedWire::MatchedWire(int rank, int num_ranks, std::chrono::milliseconds timeout)
    : rank_(rank), timeout_(timeout), peers_(static_cast<std::size_t>(num_ranks)) {}

std::unique_ptr<Parcel> MatchedWire::send(const void* bytes, std::size_t size, int to,
                                          std::uint64_t slot) {
  return start(const_cast<char*>(static_cast<const char*>(bytes)), size, to, slot, false);
}

std::unique_ptr<Parcel> MatchedWire::receive(void* bytes, std::size_t size, int from,
                                             std::uint64_t slot) {
  return start(static_cast<char*>(bytes), size, from, slot, true);
}

std::unique_ptr<Parcel> MatchedWire::start(char* bytes, std::size_t size, int other,
                                           std::uint64_t slot, bool receives) {
  auto message = std::make_shared<Message>(Message{bytes, size, other, slot, receives});
  {
    const std::lock_guard lock(mutex_);
    new_messages_.push_back(message);
  }
  wake();
  return std::make_unique<MatchedParcel>(*this, std::move(message));
}

void MatchedWire::abort() {
  {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
  }
  finished_.notify_all();
}

void MatchedWire::end_thread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake();
}

bool MatchedWire::take_new() {
  std::vector<std::shared_ptr<Message>> messages;
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return false;
    messages.swap(new_messages_);
  }
  for (auto& message : messages) {
    const std::uint64_t slot = message->slot;
    Peer& other = peer(message->peer);
    if (message->receives) {
      other.notices.push_back(slot);
      other.to_receive[slot].push_back(std::move(message));
    } else {
      other.to_send[slot].push_back(std::move(message));
      match(other, slot);
    }
  }
  return true;
}

void MatchedWire::hear_notice(int other, std::uint64_t slot) {
  ++peer(other).ready[slot];
  match(peer(other), slot);
}

void MatchedWire::match(Peer& peer, std::uint64_t slot) {
  const auto ready = peer.ready.find(slot);
  const auto waiting = peer.to_send.find(slot);
  if (ready == peer.ready.end() || waiting == peer.to_send.end()) return;
  while (ready->second > 0 && !waiting->second.empty()) {
    peer.sending.push_back(std::move(waiting->second.front()));
    waiting->second.pop_front();
    --ready->second;
  }
  if (ready->second == 0) peer.ready.erase(ready);
  if (waiting->second.empty()) peer.to_send.erase(waiting);
}

void MatchedWire::begin_arrival(int other, const MessageHead& head) {
  Peer& from = peer(other);
  const auto place = from.to_receive.find(head.slot);  // it was told of: there is one
  from.arriving = std::move(place->second.front());
  place->second.pop_front();
  if (place->second.empty()) from.to_receive.erase(place);
  if (from.arriving->size == head.size) return;
  finish(*from.arriving, fmt::format("a message of {} bytes came for a receive of {}", head.size,
                                     from.arriving->size));
  from.arriving = std::make_shared<Message>(Message{nullptr, head.size, other, head.slot, true});
}

void MatchedWire::finish(Message& message, const std::string& complaint) {
  {
    const std::lock_guard lock(mutex_);
    message.complaint = complaint;
    message.done = true;
  }
  finished_.notify_all();
}

}  // namespace nereus::worker
