#include "simulate/network/network_play.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
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
constexpr double kRounding = 1e-6;  // picoseconds that are rounding, not time

class Player {
 public:
  Player(const std::vector<double>& capacities, const Transfers& transfers)
      : transfers_(transfers),
        sharing_(per_picosecond(capacities), links_of(transfers)),
        lanes_(transfers.routes().size()) {
    index_waits();
  }

  Played run() {
    const std::size_t count = transfers_.list().size();
    played_.arrivals.assign(count, kNever);
    for (std::size_t i = 0; i < count; ++i)
      if (missing_[i] == 0) ready_.push_back(static_cast<int>(i));
    start_ready();
    share();
    while (!queue_.empty()) {
      now_ = queue_.next();
      // A transfer without bytes or latency happens in the same picosecond as what it waited for.
      while (!queue_.empty() && queue_.next() == now_) {
        for (const QueuedEvent& event : queue_.take()) {
          if (event.what >= 0)
            arrive(event.what);
          else if (lanes_[at(~event.what)].version == event.version)
            end_on(~event.what);
        }
        start_ready();
      }
      share();
    }
    NEREUS_CHECK(arrived_ == count, "transfers wait for each other in a circle");
    played_.events = 3 * static_cast<std::int64_t>(count);
    return std::move(played_);
  }

 private:
  // Transfers in flight on one route.
  struct Goal {
    double bytes = 0;  // of `carried` when it is done
    int transfer = 0;
    bool operator>(const Goal& other) const { return bytes > other.bytes; }
  };
  struct Lane {
    double carried = 0;  // by each of them since the lane was last empty, until `since`
    double rate = 0;
    double next = -1;  // the goal that the queue knows of; -1: none
    Picoseconds since = 0;
    std::int32_t version = 0;  // of its event in the queue; older ones are void
    std::vector<Goal> goals;   // a heap, the least first
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  static std::vector<double> per_picosecond(std::vector<double> capacities) {
    for (double& capacity : capacities) capacity *= 1e-12;
    return capacities;
  }
  static std::vector<const Route*> links_of(const Transfers& transfers) {
    std::vector<const Route*> routes;
    for (const Transfers::RouteOf& route : transfers.routes()) routes.push_back(&route.links);
    return routes;
  }

  // Waits by the transfer that ends them, one flat list.
  void index_waits() {
    const std::size_t count = transfers_.list().size();
    missing_.assign(count, 0);
    first_.assign(count + 1, 0);
    for (const Transfers::Wait& wait : transfers_.waits()) {
      ++first_[at(wait.before) + 1];
      ++missing_[at(wait.transfer)];
    }
    for (std::size_t i = 0; i < count; ++i) first_[i + 1] += first_[i];
    waiting_.resize(transfers_.waits().size());
    std::vector<int> fill(first_.begin(), first_.end() - 1);
    for (const Transfers::Wait& wait : transfers_.waits())
      waiting_[at(fill[at(wait.before)]++)] = wait.sent ? ~wait.transfer : wait.transfer;
  }

  void release(int transfer, bool sent) {
    for (int i = first_[at(transfer)]; i < first_[at(transfer) + 1]; ++i) {
      const int code = waiting_[at(i)];
      if ((code < 0) != sent) continue;
      const int next = sent ? ~code : code;
      if (--missing_[at(next)] == 0) ready_.push_back(next);
    }
  }

  void arrive(int transfer) {
    played_.arrivals[at(transfer)] = played_.end = now_;
    ++arrived_;
    release(transfer, false);
  }

  void sent(int transfer) {
    const Picoseconds latency =
        transfers_.routes()[at(transfers_.list()[at(transfer)].route)].latency;
    queue_.push(now_ + latency, {transfer, 0});
    release(transfer, true);
  }

  void settle(Lane& lane) {
    lane.carried += lane.rate * static_cast<double>(now_ - lane.since);
    lane.since = now_;
  }

  void start_ready() {
    for (std::size_t i = 0; i < ready_.size(); ++i) {  // grows where one is sent at once
      const int transfer = ready_[i];
      const auto& [route, bytes] = transfers_.list()[at(transfer)];
      if (bytes == 0) {
        sent(transfer);
        continue;
      }
      Lane& lane = lanes_[at(route)];
      if (lane.goals.empty()) {
        lane.carried = lane.rate = 0;
        lane.since = now_;
      } else {
        settle(lane);
      }
      lane.goals.push_back({lane.carried + bytes, transfer});
      std::push_heap(lane.goals.begin(), lane.goals.end(), std::greater<>());
      sharing_.add(route);
    }
    ready_.clear();
  }

  // The transfers of a route that are done now.
  void end_on(int route) {
    Lane& lane = lanes_[at(route)];
    settle(lane);
    lane.carried = std::max(lane.carried, lane.next);  // rounding must not keep it from its goal
    lane.next = -1;
    ++lane.version;
    const double done = lane.carried + lane.rate * kRounding;
    while (!lane.goals.empty() && lane.goals.front().bytes <= done) {
      const int transfer = lane.goals.front().transfer;
      std::pop_heap(lane.goals.begin(), lane.goals.end(), std::greater<>());
      lane.goals.pop_back();
      sharing_.remove(route);
      sent(transfer);
    }
  }

  // Computes new rates where something changed, and new end times.
  void share() {
    for (const int route : sharing_.solve()) {
      Lane& lane = lanes_[at(route)];
      const double rate = sharing_.rate(route), goal = lane.goals.front().bytes;
      if (rate == lane.rate && goal == lane.next) continue;  // its end stays as it was
      settle(lane);
      lane.rate = rate;
      lane.next = goal;
      const double left = std::ceil((goal - lane.carried) / rate - kRounding);
      NEREUS_CHECK(left < 9e18, "within 64 bits of picoseconds");
      const Picoseconds end = now_ + std::max<Picoseconds>(static_cast<Picoseconds>(left), 0);
      queue_.push(end, {~route, ++lane.version});
    }
  }

  const Transfers& transfers_;
  Sharing sharing_;
  std::vector<Lane> lanes_;  // by route
  EventQueue queue_;
  std::vector<int> missing_, first_;
  std::vector<int> waiting_;  // a transfer, or ~transfer if it waits for sending
  std::vector<int> ready_;
  std::size_t arrived_ = 0;
  Picoseconds now_ = 0;
  Played played_;
};

}  // namespace

Played play(const std::vector<double>& capacities, const Transfers& transfers) {
  return Player(capacities, transfers).run();
}

}  // namespace nereus::simulate
