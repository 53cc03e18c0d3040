#include "worker/pieces.hpp"

#include <sys/prctl.h>

#include <algorithm>

namespace nereus::worker {

namespace {

constexpr std::int64_t kLook = 20'000'000;   // between looks whether the job is to end
constexpr std::int64_t kLong = 500'000'000;  // to wait
constexpr std::size_t kMostUnderWay = 1024;  // each holds two events of the device

}  // namespace

Pieces::Pieces(const std::string& gate_file, const at::Device& device, std::function<bool()> ends)
    : gate_(gate_file), clock_(device), ends_(std::move(ends)) {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // of this thread, which is the one that waits
  clock_.begin(true);
}

double Pieces::seconds(Key key) const {
  const auto known = known_.find(key);
  return known == known_.end() ? 0 : static_cast<double>(known->second.longest()) * 1e-9;
}

void Pieces::Known::add(std::int64_t took) {
  if (runs == 1) last = {};
  last[runs % last.size()] = took;
  ++runs;
}

void Pieces::enter(Key key) {
  if (depth_++ > 0) return;
  const auto known = known_.find(key);
  std::int64_t takes = known == known_.end() ? 0 : known->second.longest();
  job::GatePage& page = gate_.page();
  std::int64_t open_until = 0, begin = 0, since = 0;
  while (true) {
    const std::uint32_t seen = page.num_openings;
    const std::int64_t now = job::gate_now();
    open_until = page.open_until;
    begin = std::max(now, busy_until_);
    if (open_until == job::kAlways || begin + takes < open_until || (ends_ && ends_())) break;
    if (since == 0) since = now;
    if (now - since > kLong) {
      takes /= 2;
      since = now;
    }
    page.wanted = std::max<std::int64_t>(1, takes);
    if (now >= busy_until_ && !under_way_.empty()) settle();
    gate_.wait_for_opening(seen, busy_until_ > now ? std::min(busy_until_ - now, kLook) : kLook);
  }
  if (since > 0) page.wanted = 0;
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
  for (const UnderWay& piece : under_way_) {
    const std::int64_t end = clock_.time_of(piece.end), took = end - clock_.time_of(piece.start);
    known_[piece.key].add(took);
    page.used += took;
    ++page.num_pieces;
    page.num_late += end > piece.open_until;
  }
  under_way_.clear();
  clock_.begin(true);
  busy_until_ = 0;
}

}  // namespace nereus::worker
