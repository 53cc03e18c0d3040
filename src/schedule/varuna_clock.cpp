#include "schedule/varuna_clock.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"

namespace nereus::schedule {

namespace {

constexpr double kNever = 1e300;

int most_held(const PipelineSize& size, int rank) {
  const int behind = size.depth - 1 - rank;
  return std::min(size.micro_batches, behind > 0 ? 3 * behind : 1);
}

// Counts what arrives exactly at the time of a choice, independent of the order of summation.
bool is_there(double arrival, double now) {
  constexpr double kRounding = 1e-12;
  return arrival <= now * (1 + kRounding);
}

}  // namespace

int forwards_before(const PipelineSize& size, int rank, int back) {
  const int behind = size.depth - 1 - rank;
  return behind == 0 ? back + 1 : std::min(size.micro_batches, 3 * behind + back - back % 3);
}

void VarunaClock::start(const PipelineSize& size, const PipelineSeconds& times) {
  NEREUS_CHECK(size.chunks == 1 && size.depth > 1, "Varuna has one stage a rank");
  NEREUS_CHECK(times.stages.size() == static_cast<std::size_t>(size.depth),
               "every stage has its times");
  size_ = size;
  times_ = times;
  const auto depth = static_cast<std::size_t>(size.depth);
  // A rank has sent no more than it holds, and is sent no more gradients than that.
  window_ = std::bit_ceil(3 * depth);
  if (activations_.size() < depth * window_) {
    activations_.resize(depth * window_);
    gradients_.resize(depth * window_);
    activations_before_.resize(depth * window_);
    gradients_before_.resize(depth * window_);
  }
  lanes_before_.resize(depth);
  looked_at_ = 0;
  next_moment_ = 3 * size.depth;
  left_out_ = 0;
  lanes_.assign(depth, Lane{});
  ready_.reserve(2 * depth);
  ready_.clear();
  for (int rank = size.depth; rank-- > 0; ready_.push_back(rank)) {
    lane(rank).most = most_held(size, rank);
    lane(rank).choice = kNever;
  }
}

// Finds what the rank runs next. Returns false if it is done, or if its choice depends on others.
bool VarunaClock::choose(int rank) {
  Lane& own = lane(rank);
  if (own.backs == size_.micro_batches) return false;
  if (own.forwards < forwards_before(size_, rank, own.backs)) {
    own.next = Next::kForward;
    return true;
  }
  if (rank + 1 == size_.depth) {
    own.next = Next::kBack;  // it recomputes nothing
    return true;
  }
  own.next = Next::kRecompute;
  const bool may_pull = own.forwards < size_.micro_batches && own.forwards - own.backs < own.most;
  if (!may_pull) return true;
  if (lane(rank + 1).backs > own.backs) {
    if (!is_there(gradient(rank, own.backs), own.free)) own.next = Next::kForward;
    return true;
  }
  own.next = Next::kChoose;
  own.choice = own.free;
  return false;
}

// Everything that happens earlier is known, so a gradient that is unknown has not arrived.
void VarunaClock::make_choice(int rank) {
  Lane& own = lane(rank);
  const bool there =
      lane(rank + 1).backs > own.backs && is_there(gradient(rank, own.backs), own.choice);
  own.next = there ? Next::kRecompute : Next::kForward;
  own.choice = kNever;
}

// Returns false if the arrival of its input is not known; the sender then calls again.
bool VarunaClock::run_forward(int rank) {
  Lane& own = lane(rank);
  const int micro_batch = own.forwards;
  if (rank > 0) {
    if (lane(rank - 1).forwards <= micro_batch) return false;
    own.free = std::max(own.free, activation(rank, micro_batch));
  }
  own.free += stage(rank).forward;
  ++own.forwards;
  own.next = Next::kChoose;
  if (rank + 1 == size_.depth) return true;
  own.sent = std::max(own.sent, own.free) + stage(rank).send;
  activation(rank + 1, micro_batch) = own.sent;
  const Lane& other = lane(rank + 1);
  if (other.next == Next::kForward && other.forwards == micro_batch) ready_.push_back(rank + 1);
  return true;
}

bool VarunaClock::run_back(int rank) {
  Lane& own = lane(rank);
  const int micro_batch = own.backs;
  if (rank + 1 < size_.depth) {
    if (lane(rank + 1).backs <= micro_batch) return false;
    own.free = std::max(own.free, gradient(rank, micro_batch));
  }
  own.last_start = own.free;
  own.free += stage(rank).input + stage(rank).weight;
  ++own.backs;
  own.next = Next::kChoose;
  if (rank == 0) return true;
  own.sent_back = std::max(own.sent_back, own.free) + stage(rank).send_back;
  gradient(rank - 1, micro_batch) = own.sent_back;
  const Lane& other = lane(rank - 1);
  if (other.next == Next::kBack && other.backs == micro_batch) ready_.push_back(rank - 1);
  return true;
}

// Advances a rank until it is done or must make a choice that depends on others.
void VarunaClock::advance(int rank) {
  Lane& own = lane(rank);
  while (true) {
    switch (own.next) {
      case Next::kChoose:
        if (!choose(rank)) return;
        break;
      case Next::kForward:
        if (!run_forward(rank)) return;
        break;
      case Next::kRecompute:
        own.free += stage(rank).recompute;
        own.next = Next::kBack;
        break;
      case Next::kBack:
        if (!run_back(rank)) return;
        break;
    }
  }
}

// Messages that are on their way, and those before them as they were before.
bool VarunaClock::same_messages(double later, double tolerance) const {
  const auto same = [&](const std::vector<double>& now, const std::vector<double>& before, int rank,
                        int first, int end, int by) {
    for (int k = first; k < end; ++k)
      if (std::abs(now[cell(rank, k)] - before[cell(rank, k - by)] - later) > tolerance)
        return false;
    return true;
  };
  const int by = lanes_.front().backs - lanes_before_.front().backs;
  for (int rank = 0; rank + 1 < size_.depth; ++rank) {
    const Lane& own = lanes_[rank];
    const Lane& next = lanes_[static_cast<std::size_t>(rank) + 1];
    if (!same(activations_, activations_before_, rank + 1, next.forwards, own.forwards, by) ||
        !same(gradients_, gradients_before_, rank, own.backs, next.backs, by))
      return false;
  }
  return true;
}

bool VarunaClock::stands_as_before(double later, double tolerance) const {
  const int by = lanes_.front().backs - lanes_before_.front().backs;
  const auto same = [&](double now, double before) {
    return std::abs(now - before - later) <= tolerance;
  };
  for (std::size_t r = 0; r < lanes_.size(); ++r) {
    const Lane& own = lanes_[r];
    const Lane& before = lanes_before_[r];
    if (own.next != before.next || own.forwards != before.forwards + by ||
        own.backs != before.backs + by || !same(own.free, before.free))
      return false;
    const bool waits = own.choice < kNever;
    if (waits != (before.choice < kNever) || (waits && !same(own.choice, before.choice)))
      return false;
    if (r + 1 < lanes_.size() && !same(own.sent, before.sent)) return false;
    if (r > 0 && !same(own.sent_back, before.sent_back)) return false;
  }
  return same_messages(later, tolerance);
}

// Skips what only repeats earlier passes. No rank is more than 3 (p - 1) micro-batches ahead of
// another, and its order is not further ahead of it either: until 6 p are left, none reaches the
// end.
void VarunaClock::look_for_rest() {
  constexpr double kRest = 1e-11;
  const Lane& first = lanes_.front();
  looked_at_ = first.backs;
  const int left = size_.micro_batches - first.backs - 6 * size_.depth;
  const int by = first.backs - lanes_before_.front().backs;
  if (left < 3 || first.backs < 3 * size_.depth) return;
  const double later = first.free - lanes_before_.front().free;
  if (first.backs < next_moment_ && by % 3 == 0 && left >= by &&
      stands_as_before(later, kRest * later)) {
    const int times = left / by;
    size_.micro_batches -= times * by;
    left_out_ += times * later;
    looked_at_ = size_.micro_batches;  // never again
    return;
  }
  if (first.backs < next_moment_) return;
  next_moment_ = 2 * first.backs;
  lanes_before_ = lanes_;
  const std::size_t used = lanes_.size() * window_;
  std::copy_n(activations_.begin(), used, activations_before_.begin());
  std::copy_n(gradients_.begin(), used, gradients_before_.begin());
}

void VarunaClock::play(const PipelineSize& size, const PipelineSeconds& times,
                       PipelineClose& close) {
  start(size, times);
  while (true) {
    while (!ready_.empty()) {
      const int rank = ready_.back();
      ready_.pop_back();
      advance(rank);
    }
    if (lanes_.front().backs > looked_at_) look_for_rest();
    // At the same moment the higher rank chooses first.
    int first = size.depth - 1;
    for (int rank = first; rank-- > 0;)
      if (lane(rank).choice < lane(first).choice) first = rank;
    if (lane(first).choice == kNever) break;
    make_choice(first);
    ready_.push_back(first);
  }
  close.end.resize(lanes_.size());
  close.last_back.resize(lanes_.size());
  close.busy_after.resize(lanes_.size());
  for (std::size_t r = 0; r < lanes_.size(); ++r) {
    NEREUS_CHECK(lanes_[r].backs == size_.micro_batches, "forward passes never wait for ever");
    close.end[r] = lanes_[r].free + left_out_;
    close.last_back[r] = lanes_[r].last_start + left_out_;
    close.busy_after[r] = times.stages[r].input + times.stages[r].weight;
  }
}

}  // namespace nereus::schedule
