// Micro-batches that threads prepare ahead, returned in order. Their content does not depend on the
// number of threads. The loader measures how long the caller waited for each micro-batch.
//
//   Loader loader(source, [&](std::int64_t k) { return samples_of_micro_batch(k); },
//                 {.workers = 2, .prefetch = 4});
//   while (const auto batch = loader.next()) train(*batch);      // batch->waited_s
//
// Micro-batch k = 0, 1, 2, ... consists of the samples g in the list; an empty list ends the data.
// The list function is called in the order of k, by one thread at a time. One thread prepares a
// micro-batch, and at most `prefetch` are ready or in preparation. An error in preparation (a
// damaged file) is thrown by the next() that returns the micro-batch. The destructor waits for
// micro-batches in preparation.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/joining_thread.hpp"
#include "data/sample_source.hpp"

namespace nereus::data {

struct Batch {
  std::int64_t index = 0;              // k
  std::vector<std::uint64_t> samples;  // g of each sample
  std::vector<std::int64_t> tokens;    // samples x (seq + 1)
  std::vector<float> pixels;         // samples x 3 x size x size; empty if they are in `elsewhere`
  std::vector<std::int64_t> labels;  // one per image
  std::shared_ptr<void> elsewhere;   // keeps the memory from LoaderOptions::room alive
  double waited_s = 0;               // duration of the call of next()
};

struct LoaderOptions {
  int workers = 1;  // threads; 0 = next() prepares
  int prefetch = 2;
  // Memory for that many pixels, used instead of Batch::pixels, such as pinned memory for a GPU.
  std::function<std::span<float>(Batch&, std::size_t count)> room{};
};

class Loader {
 public:
  using SampleList = std::function<std::vector<std::uint64_t>(std::int64_t k)>;

  Loader(std::shared_ptr<const SampleSource> source, SampleList list, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::optional<Batch> next();
  double waited_s() const { return waited_s_; }  // in total

 private:
  struct Slot {
    Batch batch;
    std::exception_ptr error;
    bool ready = false;
  };

  void work();
  void prepare(Slot& slot) const;

  const std::shared_ptr<const SampleSource> source_;
  const SampleList list_;
  const std::function<std::span<float>(Batch&, std::size_t)> room_;
  std::vector<Slot> slots_;  // micro-batch k is in slot k modulo their number
  double waited_s_ = 0;      // only the caller's waits

  std::mutex mutex_;
  std::condition_variable slot_free_;
  std::condition_variable slot_ready_;
  std::int64_t num_started_ = 0;  // micro-batches whose samples are known
  std::int64_t num_taken_ = 0;
  bool listing_ = false;  // a thread is calling the list function
  bool ended_ = false;    // the list has ended, so num_started_ is final
  bool stopping_ = false;
  std::vector<JoiningThread> threads_;
};

}  // namespace nereus::data
