#include "worker/pieces.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <functional>
#include <thread>

namespace nereus::worker {

namespace {

constexpr std::int64_t kLook = 20'000'000;  // between looks whether the job is to end
// From the host's launch to the device's start, where nothing is under way.
constexpr std::int64_t kLaunch = 10'000;
constexpr std::int64_t kShortestSleep = 300'000;
// Between two pieces that the host launched one behind the other.
constexpr std::int64_t kMostBetween = 20'000;
constexpr std::size_t kMostUnderWay = 1024;  // each holds two events of the device

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
  if (!watches_) {
    gate_.wait_for_opening(seen, busy_until_ > now ? std::min(busy_until_ - now, kLook) : kLook);
    return;
  }
  // Not in the shortest of the last times between openings, less what a sleeper may oversleep.
  const std::int64_t soonest = *std::min_element(between_.begin(), between_.end());
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
    const std::uint32_t seen = page.num_openings;
    const std::int64_t now = job::gate_now();
    open_until = page.open_until;
    note_opening(seen, now);
    begin = now + (watches_ ? kLaunch : 0);
    if (busy_until_ > begin) begin = busy_until_ + between_pieces_;
    if (open_until == job::kAlways || begin + takes < open_until || (ends_ && ends_())) break;
    // Sooner than thought, say, where a piece ran for the first time.
    if (!under_way_.empty() && clock_.is_settled()) {
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
  under_way_.push_back({key, clock_.now(), 0, open_until});
}

void Pieces::leave() {
  if (--depth_ > 0) return;
  under_way_.back().end = clock_.now();
  // Without a device of its own it is done; a piece that was never seen is waited for.
  if (!clock_.has_tickets() || !known_.contains(under_way_.back().key)) settle();
}

void Pieces::settle() {
  clock_.settle();
  job::GatePage& page = gate_.page();
  std::int64_t last_end = 0;
  for (const UnderWay& piece : under_way_) {
    const std::int64_t start = clock_.time_of(piece.start), end = clock_.time_of(piece.end);
    const std::int64_t took = end - start;
    if (last_end > 0)
      between_pieces_ +=
          (std::clamp<std::int64_t>(start - last_end, 0, kMostBetween) - between_pieces_) / 8;
    last_end = end;
    known_[piece.key].add(took);
    page.used += took;
    ++page.num_pieces;
    page.num_late += end > piece.open_until;
  }
  under_way_.clear();
  clock_.begin_at_rest();
  busy_until_ = 0;
}

}  // namespace nereus::worker
