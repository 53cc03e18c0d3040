// Activations that are offloaded to host memory between their passes (Cephalo, ICS 2025).
//
// put() starts the copy to the host; the device memory is freed when the copy is done.
// fetch_start() prefetches the tensor, and fetch() returns it. On a GPU the copies go through
// pinned memory on a separate stream, and overlap with computation. On CPUs the same operations are
// plain copies, so that the bytes that would be on a device can be counted.
//
// Host buffers are kept for the next step, because pinning memory costs more than the copy.
//
//   HostStore store(device);
//   HostStore::Item item = store.put(activation);       // activation may be dropped now
//   store.fetch_start(item);
//   at::Tensor again = store.fetch(item);               // may be called several times
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "worker/device/stream_clock.hpp"

namespace nereus::worker {

class HostStore {
 public:
  explicit HostStore(const at::Device& device);
  ~HostStore();
  HostStore(const HostStore&) = delete;
  HostStore& operator=(const HostStore&) = delete;

  struct Held {
    at::Tensor host;
    at::Tensor arriving;  // on the device, from fetch_start() to fetch()
    struct Arrival;
    std::shared_ptr<Arrival> arrival;
  };
  using Item = std::shared_ptr<Held>;

  Item put(const at::Tensor& value);
  void fetch_start(const Item& item);
  at::Tensor fetch(const Item& item);

  std::int64_t host_bytes() const;  // of all buffers, used or free

  // While it is set and its clock has tickets: records when copies ran, and when computation waited
  // for one.
  struct Seen {
    StreamClock* clock = nullptr;
    std::vector<std::pair<std::int64_t, std::int64_t>> copies = {};
    std::vector<std::pair<std::int64_t, std::int64_t>> waits = {};
  };
  Seen* seen = nullptr;

 private:
  struct Pool;
  struct Stream;
  at::Device device_;
  std::shared_ptr<Pool> pool_;  // items return their buffers to it
  std::unique_ptr<Stream> stream_;
};

}  // namespace nereus::worker
