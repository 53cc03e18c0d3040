// Micro-batches prepared ahead by threads, handed out in the order asked for. What they hold does
// not depend on the number of threads; how long the caller waited for each is measured.
//
//   Loader loader(source, [&](std::int64_t k) { return samples_of_micro_batch(k); },
//                 {.workers = 2, .prefetch = 4});
//   while (const auto batch = loader.next()) train(*batch);      // batch->waited_s
//
// Micro-batch k = 0, 1, 2, ... consists of the samples g that the list names; an empty list ends
// the data. The list is called in the order of k, by one thread at a time. A micro-batch is
// prepared by one thread, and at most `prefetch` lie ready or in the making. An error in preparing
// (a damaged file) comes out of the next() that asks for it. The destructor waits for what is in
// the making.
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
  std::vector<std::uint64_t> samples;  // g of each
  std::vector<std::int64_t> tokens;    // samples x (seq + 1)
  std::vector<float> pixels;           // samples x 3 x size x size; empty where they are elsewhere
  std::vector<std::int64_t> labels;    // one a sample; of images
  std::shared_ptr<void> elsewhere;     // keeps what LoaderOptions::room gave
  double waited_s = 0;                 // from the call of next() to its return
};

struct LoaderOptions {
  int workers = 1;  // threads; 0 = prepared within next()
  int prefetch = 2;
  // Room for so many pixels elsewhere than in Batch::pixels, such as memory that a GPU copies from.
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
  double waited_s() const { return waited_s_; }  // in all

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
  std::vector<Slot> slots_;  // micro-batch k in slot k modulo their number
  double waited_s_ = 0;      // the caller's alone

  std::mutex mutex_;
  std::condition_variable slot_free_;
  std::condition_variable slot_ready_;
  std::int64_t num_started_ = 0;  // micro-batches whose samples are known
  std::int64_t num_taken_ = 0;
  bool listing_ = false;  // a thread asks the list
  bool ended_ = false;    // the list has come to its end: num_started_ is final
  bool stopping_ = false;
  std::vector<JoiningThread> threads_;
};

}  // namespace nereus::data
