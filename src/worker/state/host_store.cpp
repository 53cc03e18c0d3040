#include "worker/state/host_store.hpp"

#include <utility>

#ifdef NEREUS_GPU_HEADERS
#include <c10/core/Event.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace nereus::worker {

struct HostStore::Pool {
  std::map<std::pair<at::ScalarType, std::int64_t>, std::vector<at::Tensor>> free;
  std::int64_t bytes = 0;

  at::Tensor take(const at::Tensor& like) {
    std::vector<at::Tensor>& waiting = free[{like.scalar_type(), like.numel()}];
    if (!waiting.empty()) {
      at::Tensor buffer = std::move(waiting.back());
      waiting.pop_back();
      return buffer.view(like.sizes());
    }
    bytes += static_cast<std::int64_t>(like.nbytes());
    return at::empty(
        like.sizes(),
        at::TensorOptions(at::kCPU).dtype(like.scalar_type()).pinned_memory(like.is_cuda()));
  }
  void give(at::Tensor buffer) {
    const std::pair<at::ScalarType, std::int64_t> key{buffer.scalar_type(), buffer.numel()};
    free[key].push_back(std::move(buffer));
  }
};

#ifdef NEREUS_GPU_HEADERS

// The time on the current stream from here to its end.
class Look {
 public:
  Look(std::vector<std::pair<std::int64_t, std::int64_t>>* list, HostStore::Seen* seen)
      : list_(list), seen_(seen), start_(seen ? seen->clock->now() : 0) {}
  ~Look() {
    if (seen_) list_->emplace_back(start_, seen_->clock->now());
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>>* list_;
  HostStore::Seen* seen_;
  std::int64_t start_;
};

struct HostStore::Stream {
  c10::cuda::CUDAStream copies = c10::cuda::getStreamFromPool();

  void out(const at::Tensor& value, at::Tensor host, Seen* seen) {
    c10::Event made(c10::DeviceType::CUDA);
    made.record(c10::cuda::getCurrentCUDAStream().unwrap());
    made.block(copies.unwrap());
    const c10::cuda::CUDAStreamGuard guard(copies);
    {
      const Look look(seen ? &seen->copies : nullptr, seen);
      host.copy_(value, /*non_blocking=*/true);
    }
    // Its memory is not reused before the copy has read it.
    c10::cuda::CUDACachingAllocator::recordStream(value.storage().data_ptr(), copies);
  }
};
struct HostStore::Held::Arrival {
  c10::Event event{c10::DeviceType::CUDA};
};

#else

struct HostStore::Stream {};
struct HostStore::Held::Arrival {};

#endif

HostStore::HostStore(const at::Device& device) : device_(device), pool_(std::make_shared<Pool>()) {
#ifdef NEREUS_GPU_HEADERS
  if (device.is_cuda()) stream_ = std::make_unique<Stream>();
#endif
}

HostStore::~HostStore() = default;

std::int64_t HostStore::host_bytes() const { return pool_->bytes; }

// Returning a buffer while it is still being read is safe: the copy that writes to it next comes
// later on the same stream.
HostStore::Item HostStore::put(const at::Tensor& value) {
  const at::NoGradGuard no_graph;
  const at::Tensor whole = value.contiguous();
  const Item item(new Held, [pool = pool_](Held* held) {
    pool->give(std::move(held->host));
    delete held;
  });
  item->host = pool_->take(whole);
#ifdef NEREUS_GPU_HEADERS
  if (stream_) {
    stream_->out(whole, item->host, seen);
    return item;
  }
#endif
  item->host.copy_(whole);
  return item;
}

void HostStore::fetch_start(const Item& item) {
  if (item->arriving.defined()) return;
  const at::NoGradGuard no_graph;
#ifdef NEREUS_GPU_HEADERS
  if (stream_) {
    const c10::cuda::CUDAStreamGuard guard(stream_->copies);
    item->arriving =
        at::empty(item->host.sizes(), item->host.options().device(device_).pinned_memory(false));
    {
      const Look look(seen ? &seen->copies : nullptr, seen);
      item->arriving.copy_(item->host, /*non_blocking=*/true);
    }
    item->arrival = std::make_shared<Held::Arrival>();
    item->arrival->event.record(stream_->copies.unwrap());
    return;
  }
#endif
  item->arriving = item->host.clone();
}

at::Tensor HostStore::fetch(const Item& item) {
  fetch_start(item);
#ifdef NEREUS_GPU_HEADERS
  if (stream_) {
    const c10::cuda::CUDAStream here = c10::cuda::getCurrentCUDAStream();
    {
      const Look look(seen ? &seen->waits : nullptr, seen);
      item->arrival->event.block(here.unwrap());
    }
    c10::cuda::CUDACachingAllocator::recordStream(item->arriving.storage().data_ptr(), here);
  }
#endif
  return std::exchange(item->arriving, at::Tensor());
}

}  // namespace nereus::worker
