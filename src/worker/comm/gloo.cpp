// Backend "gloo": TCP connections between all ranks (Gloo's transport), set up through a c10d store
// on rank 0. Gloo's thread moves the bytes. Its collectives are not used: they support no bf16, no
// reduce-scatter and no uneven all-gather, and need separate connections for every group
// (bench/comm_bench.cpp compares them with the ring).
#ifdef NEREUS_GLOO

#include <fmt/format.h>
#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <future>
#include <mutex>
#include <unordered_map>

#include "worker/comm/backends.hpp"
#include "worker/comm/message_comm.hpp"
#include "worker/comm/rendezvous.hpp"

namespace nereus::worker {
namespace {

class GlooStore : public gloo::rendezvous::Store {
 public:
  GlooStore(StorePointer store, std::chrono::milliseconds timeout)
      : store_(std::move(store)), timeout_(timeout) {}
  void set(const std::string& key, const std::vector<char>& value) override {
    store_->set(key, {value.begin(), value.end()});
  }
  std::vector<char> get(const std::string& key) override {
    const auto value = store_->get(key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { store_->wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    store_->wait(keys, timeout);
  }

 private:
  StorePointer store_;
  std::chrono::milliseconds timeout_;
};

// The messages of a wire that are in flight. When a connection breaks, Gloo notifies waiting
// messages, but not the one whose bytes are partly transferred (pair.cc, signalException: neither
// rx_ nor the unbound buffers of tx_), which then waits for its whole time-out. So abort() must
// know all of them.
class UnderWay {
 public:
  using Buffer = gloo::transport::UnboundBuffer;
  // Returns false if it is aborted, because nothing would notify this message.
  bool add(Buffer* buffer, bool receives) {
    const std::lock_guard lock(mutex_);
    if (over_) return false;
    buffers_[buffer] = receives;
    return true;
  }
  void remove(Buffer* buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.erase(buffer);
  }
  void admit_no_more() {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  void end_waits() {
    const std::lock_guard lock(mutex_);
    for (const auto& [buffer, receives] : buffers_)
      receives ? buffer->abortWaitRecv() : buffer->abortWaitSend();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Buffer*, bool> buffers_;
  bool over_ = false;
};

class GlooParcel : public Parcel {
 public:
  GlooParcel(std::unique_ptr<gloo::transport::UnboundBuffer> buffer, int peer, bool receives,
             std::chrono::milliseconds timeout, std::shared_ptr<UnderWay> under_way)
      : buffer_(std::move(buffer)),
        peer_(peer),
        receives_(receives),
        timeout_(timeout),
        under_way_(std::move(under_way)) {
    if (!under_way_->add(buffer_.get(), receives_)) throw told_to_end();
  }
  ~GlooParcel() override {
    under_way_->remove(buffer_.get());
    if (arrived_.valid() && !is_ready()) buffer_->abortWaitRecv();
  }
  void wait() override {
    try {
      const bool whole = arrived_.valid() ? arrives_in_time()
                         : receives_      ? buffer_->waitRecv(nullptr, timeout_)
                                          : buffer_->waitSend(nullptr, timeout_);
      if (!whole) throw told_to_end();
    } catch (const gloo::Exception& error) {
      throw WireError(error.what(), peer_);
    }
  }
  // Gloo's buffers can only wait, and a wait that times out closes all connections. So the first
  // call starts a thread that waits for the bytes without a time-out.
  bool done() override {
    if (!receives_) return false;
    if (!arrived_.valid())
      arrived_ = std::async(std::launch::async, [this] {
        return buffer_->waitRecv(nullptr, std::chrono::hours(1000));
      });
    return is_ready();
  }

 private:
  WireError told_to_end() const { return {"told to end", peer_}; }
  bool is_ready() const {
    return arrived_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  bool arrives_in_time() {
    if (arrived_.wait_for(timeout_) != std::future_status::ready)
      throw WireError(fmt::format("nothing for {} ms", timeout_.count()), peer_);
    return arrived_.get();
  }

  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  int peer_;
  bool receives_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<UnderWay> under_way_;
  std::future<bool> arrived_;  // valid once done() was asked
};

// Nobody sends to it: groups have the uppermost bit too, and hashes below it.
constexpr std::uint64_t kAbortSlot = ~0ULL;

class GlooWire : public Wire {
 public:
  GlooWire(StorePointer store, std::shared_ptr<gloo::rendezvous::Context> context)
      : store_(std::move(store)), context_(std::move(context)) {}
  int rank() const override { return context_->rank; }
  int num_ranks() const override { return context_->size; }
  std::unique_ptr<Parcel> send(const void* bytes, std::size_t size, int to,
                               std::uint64_t slot) override {
    auto buffer = context_->createUnboundBuffer(const_cast<void*>(bytes), size);
    try {
      buffer->send(to, slot);
    } catch (const gloo::Exception& error) {
      throw WireError(error.what(), to);
    }
    return std::make_unique<GlooParcel>(std::move(buffer), to, false, context_->getTimeout(),
                                        under_way_);
  }
  std::unique_ptr<Parcel> receive(void* bytes, std::size_t size, int from,
                                  std::uint64_t slot) override {
    auto buffer = context_->createUnboundBuffer(bytes, size);
    try {
      buffer->recv(from, slot);
    } catch (const gloo::Exception& error) {
      throw WireError(error.what(), from);
    }
    return std::make_unique<GlooParcel>(std::move(buffer), from, true, context_->getTimeout(),
                                        under_way_);
  }
  // Gloo has no call for this, but a buffer whose wait times out closes all connections of its
  // context. Afterwards nothing writes to a message any more, and waiting threads may release it.
  void abort() override {
    under_way_->admit_no_more();
    char nothing = 0;
    for (int other = 0; other < num_ranks(); ++other) {
      if (other == rank()) continue;
      auto buffer = context_->createUnboundBuffer(&nothing, 1);
      try {
        buffer->recv(other, kAbortSlot);
        buffer->waitRecv(nullptr, std::chrono::milliseconds(1));
      } catch (const gloo::Exception&) {
        // Either it times out, as intended, or that connection is broken already and the next one
        // is tried.
      }
    }
    under_way_->end_waits();
  }

 private:
  StorePointer store_;  // rank 0's serves the others as long as it lives
  std::shared_ptr<gloo::rendezvous::Context> context_;
  const std::shared_ptr<UnderWay> under_way_ = std::make_shared<UnderWay>();
};

std::unique_ptr<Comm> connect(const StorePointer& store, const std::string& own_address, int rank,
                              int num_ranks, std::chrono::milliseconds timeout, bool ends_together,
                              const std::string& card = {},
                              const std::shared_ptr<Board>& board = {}) {
  auto liveness = std::make_unique<Liveness>(rank, num_ranks, own_address, timeout);
  liveness->start(meet_alike(store, rank, num_ranks, liveness->address(), card, timeout));
  gloo::transport::tcp::attr place;
  place.hostname = own_address;
  auto device = gloo::transport::tcp::CreateDevice(place);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, num_ranks);
  context->setTimeout(timeout);
  try {
    // It asks the store too, which a stopped rank 0 does not answer.
    if (!in_time(
            timeout,
            [=]() mutable {
              GlooStore gloo_store(store, timeout);
              context->connectFullMesh(gloo_store, device);
              return true;
            },
            board))
      throw std::runtime_error(fmt::format("nothing for {} ms", timeout.count()));
  } catch (const BoardClosed&) {
    throw;
  } catch (const std::exception& error) {
    if (board)  // the provider of the board knows who is missing
      throw CommError(fmt::format("rank {}: connecting all ranks failed: {}", rank, error.what()),
                      -1);
    throw explain(*liveness, "connecting all ranks", {}, error.what());
  }
  return std::make_unique<MessageComm>(std::make_shared<CommCore>(
      "gloo", std::make_unique<GlooWire>(store, context), std::move(liveness), ends_together));
}

}  // namespace

std::unique_ptr<Comm> open_gloo(const CommOptions& options) {
  const StorePointer store = options.board ? board_store(options.board) : open_store(options);
  return connect(store, local_address_towards(options.address), options.rank, options.num_ranks,
                 options.timeout, !options.board, options.card, options.board);
}

std::vector<std::unique_ptr<Comm>> open_local_gloo(int num_ranks,
                                                   std::chrono::milliseconds timeout) {
  const StorePointer store = local_store();
  std::vector<std::unique_ptr<Comm>> comms(static_cast<std::size_t>(num_ranks));
  std::vector<std::future<void>> opened;
  for (int rank = 0; rank < num_ranks; ++rank)
    opened.push_back(std::async(std::launch::async, [&, rank] {
      comms[rank] = connect(store, "127.0.0.1", rank, num_ranks, timeout, false);
    }));
  for (auto& one : opened) one.get();
  return comms;
}

}  // namespace nereus::worker

#endif
