#include "data/loader.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/base_testing.hpp"
#include "data/synthetic.hpp"

namespace nereus::data::loader_test {
namespace {

using nereus::testing::codes_of;
using ::testing::ElementsAre;

// Micro-batch k holds samples 3 k, 3 k + 1, 3 k + 2.
Loader::SampleList three_each(std::int64_t num_batches) {
  return [num_batches](std::int64_t k) -> std::vector<std::uint64_t> {
    if (k >= num_batches) return {};
    const auto g = static_cast<std::uint64_t>(3 * k);
    return {g, g + 1, g + 2};
  };
}

// Takes a while, a different one for each sample, and counts how often it is asked.
class SlowSource : public SampleSource {
 public:
  explicit SlowSource(int unit_us) : unit_us_(unit_us) {}
  SampleShape shape() const override { return {.num_tokens = 2, .num_pixels = 3}; }
  std::uint64_t samples_per_epoch() const override { return 0; }
  void read(std::uint64_t g, const SampleView& into) const override {
    ++num_reads;
    std::this_thread::sleep_for(std::chrono::microseconds(unit_us_ * static_cast<int>(g * 7 % 5)));
    if (g == fail_at) throw_input_error("data.test", "this one is broken");
    into.tokens[0] = into.tokens[1] = static_cast<std::int64_t>(g);
    for (float& pixel : into.pixels) pixel = static_cast<float>(g) + 0.5F;
    *into.label = static_cast<std::int64_t>(g) * 10;
  }

  mutable std::atomic<int> num_reads = 0;
  std::uint64_t fail_at = ~std::uint64_t{0};

 private:
  int unit_us_;
};

RC_GTEST_PROP(Loader, HandsOutTheSameWhateverTheThreads, ()) {
  const int workers = *rc::gen::inRange(0, 6);
  const int prefetch = *rc::gen::inRange(0, 6);
  const std::int64_t num_batches = *rc::gen::inRange<std::int64_t>(0, 20);
  Loader loader(std::make_shared<SlowSource>(20), three_each(num_batches),
                {.workers = workers, .prefetch = prefetch});
  double waited_s = 0;
  for (std::int64_t k = 0; k < num_batches; ++k) {
    const std::optional<Batch> batch = loader.next();
    RC_ASSERT(batch.has_value());
    RC_ASSERT(batch->index == k);
    RC_ASSERT(batch->samples == three_each(num_batches)(k));
    const std::int64_t g = 3 * k;
    RC_ASSERT((batch->tokens == std::vector<std::int64_t>{g, g, g + 1, g + 1, g + 2, g + 2}));
    RC_ASSERT((batch->labels == std::vector<std::int64_t>{10 * g, 10 * g + 10, 10 * g + 20}));
    RC_ASSERT(batch->pixels.size() == 9U);
    RC_ASSERT(batch->pixels[8] == static_cast<float>(g + 2) + 0.5F);
    waited_s += batch->waited_s;
  }
  RC_ASSERT(!loader.next().has_value());
  RC_ASSERT(!loader.next().has_value());
  RC_ASSERT(loader.waited_s() == waited_s);
}

TEST(Loader, PreparesAheadAndNoFurther) {
  const auto source = std::make_shared<SlowSource>(0);
  Loader loader(source, three_each(1000), {.workers = 4, .prefetch = 3});
  loader.next();
  // One taken, three ahead.
  for (int i = 0; i < 500 && source->num_reads < 12; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(source->num_reads, 12);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(source->num_reads, 12);
}

TEST(Loader, PutsPixelsWhereItIsTold) {
  const auto caller = std::this_thread::get_id();
  for (const int workers : {0, 2}) {
    std::atomic<int> elsewhere = 0;
    LoaderOptions options{.workers = workers, .prefetch = 2};
    options.room = [&](Batch& batch, std::size_t count) {
      elsewhere += std::this_thread::get_id() != caller;
      const auto room = std::make_shared<std::vector<float>>(count);
      batch.elsewhere = room;
      return std::span(*room);
    };
    Loader loader(std::make_shared<SlowSource>(10), three_each(4), std::move(options));
    for (int k = 0; k < 4; ++k) {
      const std::optional<Batch> batch = loader.next();
      ASSERT_TRUE(batch.has_value());
      EXPECT_EQ(std::static_pointer_cast<std::vector<float>>(batch->elsewhere)->front(),
                static_cast<float>(3 * k) + 0.5F);
      EXPECT_TRUE(batch->pixels.empty());
    }
    EXPECT_EQ(elsewhere, workers > 0 ? 4 : 0);
  }
}

TEST(Loader, MeasuresTheWaiting) {
  // Sample 2 alone takes 4 units of 50 ms: a caller that does nothing else waits for it.
  const auto source = std::make_shared<SlowSource>(50000);
  Loader loader(source,
                [](std::int64_t k) -> std::vector<std::uint64_t> {
                  if (k > 0) return {};
                  return {2};
                },
                {.workers = 1, .prefetch = 2});
  EXPECT_GT(loader.next()->waited_s, 0.1);
}

TEST(Loader, HandsOutAnErrorInItsPlace) {
  for (const int workers : {0, 1, 4}) {
    const auto source = std::make_shared<SlowSource>(0);
    source->fail_at = 7;  // in micro-batch 2
    Loader loader(source, three_each(5), {.workers = workers, .prefetch = 4});
    EXPECT_EQ(loader.next()->index, 0);
    EXPECT_EQ(loader.next()->index, 1);
    EXPECT_THAT(codes_of([&] { loader.next(); }), ElementsAre("data.test"));
    EXPECT_EQ(loader.next()->index, 3);
  }
}

TEST(Loader, AListThatThrowsEndsIt) {
  for (const int workers : {1, 4}) {
    Loader loader(std::make_shared<SlowSource>(0),
                  [](std::int64_t k) -> std::vector<std::uint64_t> {
                    if (k == 1) throw_input_error("data.test", "no more");
                    return {0};
                  },
                  {.workers = workers, .prefetch = 4});
    EXPECT_EQ(loader.next()->index, 0);
    EXPECT_THAT(codes_of([&] { loader.next(); }), ElementsAre("data.test"));
    EXPECT_FALSE(loader.next().has_value());
  }
}

TEST(Loader, EndsInTheMiddleOfWork) {
  const auto source = std::make_shared<SlowSource>(100);
  for (int i = 0; i < 20; ++i) {
    Loader loader(source, three_each(1000), {.workers = 3, .prefetch = 5});
    if (i % 2 == 0) {
      EXPECT_EQ(loader.next()->index, 0);
    }
    EXPECT_GT(source.use_count(), 1);
  }
  EXPECT_EQ(source.use_count(), 1) << "a worker is still at work";
}

TEST(Loader, AsksTheListInOrder) {
  std::vector<std::int64_t> asked;  // one thread at a time: no lock
  {
    Loader loader(std::make_shared<SlowSource>(10),
                  [&](std::int64_t k) -> std::vector<std::uint64_t> {
                    asked.push_back(k);
                    if (k == 50) return {};
                    return {static_cast<std::uint64_t>(k)};
                  },
                  {.workers = 4, .prefetch = 8});
    while (loader.next()) {
    }
  }
  ASSERT_EQ(asked.size(), 51U);
  for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(asked[i], static_cast<std::int64_t>(i));
}

}  // namespace
}  // namespace nereus::data::loader_test
