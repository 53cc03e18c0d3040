#include "simulate/network/play.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "base/error.hpp"

namespace nereus::simulate {

Picoseconds picoseconds(double seconds) {
  return static_cast<Picoseconds>(std::llround(seconds * 1e12));
}

int Transfers::add_route(Route links, Picoseconds latency) {
  NEREUS_CHECK(!links.empty() && latency >= 0, "a route has links");
  routes_.push_back({std::move(links), latency});
  return static_cast<int>(routes_.size()) - 1;
}

int Transfers::add(int route, double bytes) {
  NEREUS_CHECK(bytes >= 0 && route >= 0 && static_cast<std::size_t>(route) < routes_.size(),
               "a transfer has a route");
  list_.push_back({route, bytes});
  return static_cast<int>(list_.size()) - 1;
}

void Transfers::after_arrival(int transfer, int before) {
  waits_.push_back({before, transfer, false});
}
void Transfers::after_sent(int transfer, int before) { waits_.push_back({before, transfer, true}); }

namespace {

constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

class Player {
 public:
  Player(const std::vector<double>& capacities, const Transfers& transfers)
      : transfers_(transfers), sharing_(per_picosecond(capacities)) {
    index_waits();
  }

  Played run() {
    const std::size_t count = transfers_.list().size();
    played_.arrivals.assign(count, kNever);
    for (std::size_t i = 0; i < count; ++i)
      if (missing_[i] == 0) ready_.push_back(static_cast<int>(i));
    std::size_t arrived = 0;
    while (true) {
      start_ready();
      const Picoseconds next =
          std::min(next_end(), arriving_.empty() ? kNever : arriving_.top().first);
      if (next == kNever) break;
      advance(next);
      for (; !arriving_.empty() && arriving_.top().first == now_; arriving_.pop(), ++arrived) {
        const int transfer = arriving_.top().second;
        played_.arrivals[static_cast<std::size_t>(transfer)] = now_;
        release(transfer, false);
      }
    }
    NEREUS_CHECK(arrived == count, "transfers wait for each other in a circle");
    played_.end = now_;
    played_.events = 3 * static_cast<std::int64_t>(count);
    return std::move(played_);
  }

 private:
  static std::vector<double> per_picosecond(std::vector<double> capacities) {
    for (double& capacity : capacities) capacity *= 1e-12;
    return capacities;
  }

  // Waits by the transfer that ends them, one flat list.
  void index_waits() {
    const std::size_t count = transfers_.list().size();
    missing_.assign(count, 0);
    first_.assign(count + 1, 0);
    for (const Transfers::Wait& wait : transfers_.waits()) {
      ++first_[static_cast<std::size_t>(wait.before) + 1];
      ++missing_[static_cast<std::size_t>(wait.transfer)];
    }
    for (std::size_t i = 0; i < count; ++i) first_[i + 1] += first_[i];
    waiting_.resize(transfers_.waits().size());
    std::vector<int> fill(first_.begin(), first_.end() - 1);
    for (const Transfers::Wait& wait : transfers_.waits())
      waiting_[static_cast<std::size_t>(fill[static_cast<std::size_t>(wait.before)]++)] = {
          wait.transfer, wait.sent};
  }

  void release(int transfer, bool sent) {
    const auto t = static_cast<std::size_t>(transfer);
    for (int i = first_[t]; i < first_[t + 1]; ++i) {
      const auto& [next, at_sent] = waiting_[static_cast<std::size_t>(i)];
      if (at_sent == sent && --missing_[static_cast<std::size_t>(next)] == 0)
        ready_.push_back(next);
    }
  }

  void sent(int transfer) {
    const auto& of = transfers_.list()[static_cast<std::size_t>(transfer)];
    const Picoseconds latency = transfers_.routes()[static_cast<std::size_t>(of.route)].latency;
    arriving_.emplace(now_ + latency, transfer);
    release(transfer, true);
  }

  void start_ready() {
    while (!ready_.empty()) {
      std::vector<int> starting;
      starting.swap(ready_);
      for (const int transfer : starting) {
        const auto& of = transfers_.list()[static_cast<std::size_t>(transfer)];
        if (of.bytes == 0) {
          sent(transfer);
          continue;
        }
        under_way_.push_back({transfer, of.bytes, 0, kNever});
        flows_.push_back(&transfers_.routes()[static_cast<std::size_t>(of.route)].links);
        changed_ = true;
      }
    }
    if (!changed_) return;
    changed_ = false;
    if (flows_.empty()) return;
    sharing_.solve(flows_, rates_);
    for (std::size_t i = 0; i < under_way_.size(); ++i) {
      UnderWay& flow = under_way_[i];
      if (rates_[i] == flow.rate) continue;  // its end stays as it was
      flow.rate = rates_[i];
      // A millionth of a picosecond is rounding, not time.
      const double left = std::ceil(flow.bytes / flow.rate - 1e-6);
      NEREUS_CHECK(left < 9e18, "within 64 bits of picoseconds");
      flow.end = now_ + std::max<Picoseconds>(static_cast<Picoseconds>(left), 0);
    }
  }

  Picoseconds next_end() const {
    Picoseconds end = kNever;
    for (const UnderWay& flow : under_way_) end = std::min(end, flow.end);
    return end;
  }

  void advance(Picoseconds to) {
    const auto elapsed = static_cast<double>(to - now_);
    now_ = to;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < under_way_.size(); ++i) {
      if (under_way_[i].end == now_) {
        sent(under_way_[i].transfer);
        changed_ = true;
        continue;
      }
      under_way_[i].bytes = std::max(0.0, under_way_[i].bytes - elapsed * under_way_[i].rate);
      under_way_[kept] = under_way_[i];
      flows_[kept++] = flows_[i];
    }
    under_way_.resize(kept);
    flows_.resize(kept);
  }

  struct UnderWay {
    int transfer = 0;
    double bytes = 0;  // still to carry
    double rate = 0;
    Picoseconds end = kNever;
  };
  using Arrival = std::pair<Picoseconds, int>;

  const Transfers& transfers_;
  Sharing sharing_;
  std::vector<int> missing_, first_;
  std::vector<std::pair<int, bool>> waiting_;
  std::vector<int> ready_;
  std::vector<UnderWay> under_way_;
  std::vector<const Route*> flows_;  // of under_way_
  std::vector<double> rates_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arriving_;
  Picoseconds now_ = 0;
  bool changed_ = false;
  Played played_;
};

}  // namespace

Played play(const std::vector<double>& capacities, const Transfers& transfers) {
  return Player(capacities, transfers).run();
}

}  // namespace nereus::simulate
