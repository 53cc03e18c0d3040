#include "worker/state/pieces.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <functional>
#include <thread>

namespace nereus::worker {

namespace {

constexpr std::int64_t kLook = 20'000'000;  // between looks whether the job is to end
// From the host's launch to the device's start, if the device is idle.
constexpr std::int64_t kLaunch = 10'000;
constexpr std::int64_t kShortestSleep = 300'000;
constexpr std::int64_t kSeldom = 250'000'000;  // between openings
// Between two pieces that the host launched one behind the other.
constexpr std::int64_t kMostBetween = 20'000;
constexpr std::size_t kMostUnderWay = 1024;  // each holds two events of the device
// Launched ahead of what runs: enough for a device that never waits for its host.
constexpr std::int64_t kMostAhead = 300'000;

// The core's other thread has it for about a microsecond.
void rest_of_core() {
  for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }
}

}  // namespace

Pieces::Pieces(const std::string& gate_file, const at::Device& device, std::function<bool()> ends)
    : gate_(gate_file), clock_(device), ends_(std::move(ends)), watches_(device.is_cuda()) {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // of this thread, which is the one that waits
  clock_.begin_at_rest();
  gate_.page().guest = watches_ ? job::Guest::kNew : job::Guest::kKnown;
}

double Pieces::seconds(Key key) const {
  const auto known = known_.find(key);
  return known == known_.end() ? 0 : static_cast<double>(known->second.takes()) * 1e-9;
}

void Pieces::Known::add(std::int64_t took) {
  if (runs == 1) last = {};
  last[runs % last.size()] = took;
  ++runs;
}

std::int64_t Pieces::Known::takes() const {
  std::array<std::int64_t, 4> sorted = last;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  return sorted[1] > 0 ? sorted[1] : sorted[0];
}

void Pieces::expect(Key key, double seconds) {
  Known& known = known_[key];
  if (known.runs == 0) known.add(static_cast<std::int64_t>(seconds * 1e9));
}

void Pieces::note_opening(std::uint32_t number, std::int64_t now) {
  if (number == opening_) return;
  between_[number % between_.size()] = now - opened_at_;
  opening_ = number;
  opened_at_ = now;
}

void Pieces::wait_at_gate(std::uint32_t seen, std::int64_t now) {
  std::int64_t soonest = 0;
  for (const std::int64_t between : between_)
    if (between > 0 && (soonest == 0 || between < soonest)) soonest = between;
  if (!watches_ || soonest > kSeldom) {
    gate_.wait_for_opening(seen, busy_until_ > now ? std::min(busy_until_ - now, kLook) : kLook);
    return;
  }
  // Sleeps until 4/5 of the shortest recent time between openings: the rest is a margin for
  // oversleeping.
  const std::int64_t sleep = opened_at_ + soonest * 4 / 5 - now;
  if (now >= busy_until_ && sleep > kShortestSleep)
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(sleep, kLook)));
  else
    rest_of_core();
}

void Pieces::enter(Key key) {
  if (depth_++ > 0) return;
  const auto known = known_.find(key);
  const std::int64_t takes = known == known_.end() ? 0 : known->second.takes();
  job::GatePage& page = gate_.page();
  std::int64_t open_until = 0, begin = 0;
  bool waited = false;
  while (true) {
    look_at_device();
    const std::uint32_t seen = page.num_openings;
    const std::int64_t now = job::gate_now();
    open_until = page.open_until;
    note_opening(seen, now);
    begin = now + (watches_ ? kLaunch : 0);
    if (busy_until_ > begin) begin = busy_until_ + between_pieces_;
    if (open_until == job::kAlways || (ends_ && ends_())) break;
    if (begin + takes < open_until) {
      if (ahead_ <= kMostAhead) break;
      rest_of_core();
      continue;
    }
    if (!under_way_.empty() && num_done_ == under_way_.size()) {
      settle();
      continue;
    }
    if (now < open_until) {
      page.free_at = busy_until_;
      page.declined = seen;
    }
    waited = true;
    page.wanted = std::max<std::int64_t>(1, takes);
    wait_at_gate(seen, now);
  }
  if (waited) page.wanted = 0;
  if (under_way_.size() >= kMostUnderWay) settle();
  busy_until_ = begin + takes;
  ahead_ += takes;
  under_way_.push_back({key, clock_.now(), 0, open_until, takes});
}

void Pieces::leave() {
  if (--depth_ > 0) return;
  under_way_.back().end = clock_.now();
  // Without a device of its own it is done; a piece that was never seen is waited for.
  if (!clock_.has_tickets() || !known_.contains(under_way_.back().key)) settle();
}

// Updates which pieces are done, and the estimated end of the others.
void Pieces::look_at_device() {
  if (num_done_ == under_way_.size()) return;
  const std::size_t before = num_done_;
  while (num_done_ < under_way_.size() && clock_.is_past(under_way_[num_done_].end))
    note(under_way_[num_done_++]);
  if (num_done_ > before) busy_until_ = last_end_ + ahead_;
  if (num_done_ == under_way_.size()) return;
  const std::int64_t behind_it = ahead_ - under_way_[num_done_].takes;
  busy_until_ = std::max(busy_until_, job::gate_now() + behind_it);
}

void Pieces::note(const UnderWay& piece) {
  const std::int64_t start = clock_.time_of(piece.start), end = clock_.time_of(piece.end);
  if (last_end_ > 0)
    between_pieces_ +=
        (std::clamp<std::int64_t>(start - last_end_, 0, kMostBetween) - between_pieces_) / 8;
  last_end_ = end;
  ahead_ -= piece.takes;
  known_[piece.key].add(end - start);
  job::GatePage& page = gate_.page();
  page.used += end - start;
  ++page.num_pieces;
  page.num_late += end > piece.open_until;
}

void Pieces::settle() {
  clock_.settle();
  while (num_done_ < under_way_.size()) note(under_way_[num_done_++]);
  under_way_.clear();
  num_done_ = 0;
  last_end_ = ahead_ = busy_until_ = 0;
  clock_.begin_at_rest();
}

}  // namespace nereus::worker
