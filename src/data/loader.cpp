#include "data/loader.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.hpp"

namespace nereus::data {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Loader::Loader(std::shared_ptr<const SampleSource> source, SampleList list, LoaderOptions options)
    : source_(std::move(source)), list_(std::move(list)), room_(std::move(options.room)) {
  NEREUS_CHECK(source_ != nullptr && list_ != nullptr, "a loader of nothing");
  slots_.resize(static_cast<std::size_t>(std::max(options.prefetch, 1)));
  for (int i = 0; i < options.workers; ++i) threads_.emplace_back([this] { work(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  slot_free_.notify_all();
  threads_.clear();  // joins them, while the rest still lives
}

void Loader::prepare(Slot& slot) const {
  try {
    Batch& batch = slot.batch;
    const SampleShape shape = source_->shape();
    const std::size_t count = batch.samples.size();
    const auto num_tokens = static_cast<std::size_t>(shape.num_tokens);
    const auto num_pixels = static_cast<std::size_t>(shape.num_pixels);
    batch.tokens.resize(count * num_tokens);
    std::span<float> pixels;
    if (room_) {
      pixels = room_(batch, count * num_pixels);
    } else {
      batch.pixels.resize(count * num_pixels);
      pixels = batch.pixels;
    }
    batch.labels.assign(num_pixels > 0 ? count : 0, 0);
    for (std::size_t i = 0; i < count; ++i)
      source_->read(batch.samples[i],
                    {.tokens = std::span(batch.tokens).subspan(i * num_tokens, num_tokens),
                     .pixels = pixels.subspan(i * num_pixels, num_pixels),
                     .label = batch.labels.empty() ? nullptr : &batch.labels[i]});
  } catch (...) {
    slot.error = std::current_exception();
  }
}

void Loader::work() {
  const auto num_slots = static_cast<std::int64_t>(slots_.size());
  std::unique_lock lock(mutex_);
  for (;;) {
    slot_free_.wait(lock, [&] {
      return stopping_ || ended_ || (!listing_ && num_started_ < num_taken_ + num_slots);
    });
    if (stopping_ || ended_) return;
    const std::int64_t k = num_started_;
    Slot& slot = slots_[k % num_slots];
    slot = {};
    slot.batch.index = k;
    // The list is the caller's code: asked by one thread at a time, but not under the lock.
    listing_ = true;
    lock.unlock();
    try {
      slot.batch.samples = list_(k);
    } catch (...) {
      slot.error = std::current_exception();
    }
    lock.lock();
    listing_ = false;
    const bool failed = slot.error != nullptr;
    ended_ = failed || slot.batch.samples.empty();
    if (!ended_ || failed) ++num_started_;
    slot_free_.notify_all();
    if (!ended_) {
      lock.unlock();
      prepare(slot);
      lock.lock();
    }
    slot.ready = true;
    slot_ready_.notify_all();
  }
}

std::optional<Batch> Loader::next() {
  const auto start = std::chrono::steady_clock::now();
  Slot taken;
  if (threads_.empty()) {
    taken.batch.index = num_taken_++;
    taken.batch.samples = list_(taken.batch.index);
    if (taken.batch.samples.empty()) {
      --num_taken_;
      return std::nullopt;
    }
    prepare(taken);
  } else {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[static_cast<std::size_t>(num_taken_) % slots_.size()];
    slot_ready_.wait(lock, [&] { return num_taken_ < num_started_ ? slot.ready : ended_; });
    if (num_taken_ == num_started_) return std::nullopt;
    taken = std::exchange(slot, {});
    ++num_taken_;
    slot_free_.notify_all();
  }
  taken.batch.waited_s = seconds_since(start);
  waited_s_ += taken.batch.waited_s;
  if (taken.error) std::rethrow_exception(taken.error);
  return std::move(taken.batch);
}

}  // namespace nereus::data
