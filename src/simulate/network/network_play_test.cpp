#include "simulate/network/network_play.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace nereus::simulate::network_play_test {
namespace {

constexpr double kGB = 1e9;

std::vector<const Route*> pointers(const std::vector<Route>& routes) {
  std::vector<const Route*> all;
  for (const Route& route : routes) all.push_back(&route);
  return all;
}

TEST(Sharing, FlowsThatMeetShareAndTheOthersTakeTheRest) {
  // Links of 10 and 4: one flow on both, one on each.
  const std::vector<Route> routes{{{0, 1}, {1, 1}}, {{0, 1}}, {{1, 1}}};
  Sharing sharing({10, 4}, pointers(routes));
  for (const int route : {0, 1, 2}) sharing.add(route);
  sharing.solve();
  EXPECT_EQ(sharing.rate(0), 2);
  EXPECT_EQ(sharing.rate(1), 8);
  EXPECT_EQ(sharing.rate(2), 2);
  sharing.remove(1);
  sharing.remove(2);
  EXPECT_EQ(sharing.solve(), std::vector<int>{0});
  EXPECT_EQ(sharing.rate(0), 4);
}

TEST(Sharing, LooksNoFartherThanAChangeReaches) {
  const std::vector<Route> routes{{{0, 1}}, {{0, 1}, {1, 1}}, {{1, 1}}, {{2, 1}}};
  Sharing sharing({1, 1, 1}, pointers(routes));
  for (const int route : {0, 1, 2, 3}) sharing.add(route);
  EXPECT_EQ(sharing.solve().size(), 4u);
  sharing.add(3);
  EXPECT_EQ(sharing.solve(), std::vector<int>{3});
  EXPECT_EQ(sharing.rate(3), 0.5);
  // 1 has half of link 1 as before, so 2 is none the wiser.
  sharing.remove(0);
  EXPECT_EQ(sharing.solve(), std::vector<int>{1});
  EXPECT_EQ(sharing.rate(1), 0.5);
  EXPECT_TRUE(sharing.solve().empty());
}

TEST(Sharing, GoesOnWhereAChangeSpreads) {
  // A chain: when the first goes, the second takes more, which leaves less for the third, ...
  const std::vector<Route> routes{
      {{0, 1}}, {{0, 1}, {1, 1}}, {{1, 1}, {2, 1}}, {{2, 1}, {3, 1}}, {{3, 1}}};
  Sharing sharing({2, 4, 6, 8}, pointers(routes));
  for (const int route : {0, 1, 2, 3, 4}) sharing.add(route);
  sharing.solve();
  const auto rates = [&] {
    std::vector<double> all;
    for (const int route : {0, 1, 2, 3, 4}) all.push_back(sharing.rate(route));
    return all;
  };
  EXPECT_EQ(rates(), (std::vector<double>{1, 1, 3, 3, 5}));
  sharing.remove(0);
  sharing.solve();
  EXPECT_EQ(rates(), (std::vector<double>{0, 2, 2, 4, 4}));
  sharing.add(0);
  sharing.solve();
  EXPECT_EQ(rates(), (std::vector<double>{1, 1, 3, 3, 5}));
}

struct AnyFlows {
  std::vector<double> capacities;
  std::vector<Route> routes;
};

AnyFlows any_flows() {
  AnyFlows any;
  const int links = *rc::gen::inRange(1, 8), count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < links; ++i) any.capacities.push_back(*rc::gen::inRange(1, 100));
  const int sparse = *rc::gen::inRange(2, 5);
  for (int i = 0; i < count; ++i) {
    Route route;
    for (int l = 0; l < links; ++l)
      if (*rc::gen::inRange(0, sparse) == 1) route.push_back({l, double(*rc::gen::inRange(1, 3))});
    if (route.empty()) route.push_back({*rc::gen::inRange(0, links), 1});
    any.routes.push_back(route);
  }
  return any;
}

// Flows come and go; after each solve() the rates are max-min fair over all that are there, those
// that were not looked at included. There is only one such allocation, so this is all there is.
RC_GTEST_PROP(Sharing, StaysMaxMinFairAsFlowsComeAndGo, ()) {
  const AnyFlows any = any_flows();
  Sharing sharing(any.capacities, pointers(any.routes));
  const int steps = *rc::gen::inRange(1, 30);
  for (int step = 0; step < steps; ++step) {
    for (int changes = *rc::gen::inRange(1, 4); changes > 0; --changes) {
      const int route = *rc::gen::inRange(0, static_cast<int>(any.routes.size()));
      if (sharing.num_flows(route) > 0 && *rc::gen::arbitrary<bool>())
        sharing.remove(route);
      else
        sharing.add(route);
    }
    sharing.solve();
    std::vector<double> load(any.capacities.size()), most(any.capacities.size());
    for (std::size_t r = 0; r < any.routes.size(); ++r) {
      const int flows = sharing.num_flows(int(r));
      if (flows == 0) continue;
      for (const LinkUse& use : any.routes[r]) {
        load[std::size_t(use.link)] += use.weight * flows * sharing.rate(int(r));
        most[std::size_t(use.link)] = std::max(most[std::size_t(use.link)], sharing.rate(int(r)));
      }
    }
    for (std::size_t l = 0; l < load.size(); ++l)
      RC_ASSERT(load[l] <= any.capacities[l] * (1 + 1e-6));
    for (std::size_t r = 0; r < any.routes.size(); ++r) {
      if (sharing.num_flows(int(r)) == 0) continue;
      // On some full link nobody has more.
      RC_ASSERT(std::any_of(any.routes[r].begin(), any.routes[r].end(), [&](const LinkUse& use) {
        const auto l = std::size_t(use.link);
        return load[l] >= any.capacities[l] * (1 - 1e-6) &&
               sharing.rate(int(r)) >= most[l] * (1 - 1e-6);
      }));
    }
  }
}

TEST(EventQueue, GivesAllOfAMomentInTheOrderOfTime) {
  EventQueue queue;
  std::map<Picoseconds, std::multiset<int>> expected, got;
  std::uint64_t state = 1;
  Picoseconds now = 0;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const Picoseconds time = now + static_cast<Picoseconds>((state >> 33) % 700);
    queue.push(time, {i, 0});
    expected[time].insert(i);
    if (i % 3 != 0) continue;
    ASSERT_GE(queue.next(), now);
    now = queue.next();
    for (const QueuedEvent& e : queue.take()) got[now].insert(e.what);
  }
  while (!queue.empty()) {
    ASSERT_GE(queue.next(), now);
    now = queue.next();
    for (const QueuedEvent& e : queue.take()) got[now].insert(e.what);
  }
  EXPECT_EQ(got, expected);
}

TEST(Play, TwoFlowsOnOneLinkShareItAndTheLongerThenHasItAlone) {
  Transfers t;
  const int route = t.add_route({{0, 1}}, picoseconds(1e-6));
  t.add(route, 1e6);
  t.add(route, 3e6);
  const Played played = play({1 * kGB}, t);
  EXPECT_EQ(played.arrivals[0], picoseconds(2e-3 + 1e-6));  // half the rate for 1 MB
  EXPECT_EQ(played.arrivals[1], picoseconds(4e-3 + 1e-6));  // all bytes of both
  EXPECT_EQ(played.end, played.arrivals[1]);
}

TEST(Play, WaitsForArrivalOrForSending) {
  Transfers t;
  const int route = t.add_route({{0, 1}}, picoseconds(5e-6));
  const int first = t.add(route, 1e3);
  t.after_arrival(t.add(route, 1e3), first);
  EXPECT_EQ(play({1 * kGB}, t).end, picoseconds(12e-6));
  Transfers u;
  u.add_route({{0, 1}}, picoseconds(5e-6));
  u.add(0, 1e3);
  u.after_sent(u.add(0, 1e3), 0);
  EXPECT_EQ(play({1 * kGB}, u).end, picoseconds(7e-6));
}

TEST(Play, NoBytesTakeTheLatencyAlone) {
  Transfers t;
  t.add(t.add_route({{0, 1}}, 700), 0);
  EXPECT_EQ(play({1}, t).end, 700);
}

// A second player, as plain as can be: small steps from event to event over all transfers, rates
// from scratch at each of them.
std::vector<double> plain_play(const std::vector<double>& capacities, const Transfers& t) {
  const std::size_t count = t.list().size();
  std::vector<double> left, sent(count, -1), arrived(count, -1);
  for (const auto& transfer : t.list()) left.push_back(transfer.bytes);
  const auto route = [&](std::size_t i) -> const Transfers::RouteOf& {
    return t.routes()[std::size_t(t.list()[i].route)];
  };
  double now = 0;
  while (true) {
    std::vector<std::size_t> active;
    for (std::size_t i = 0; i < count; ++i) {
      if (sent[i] >= 0) continue;
      const bool ready = std::all_of(t.waits().begin(), t.waits().end(), [&](const auto& wait) {
        if (std::size_t(wait.transfer) != i) return true;
        const double at = (wait.sent ? sent : arrived)[std::size_t(wait.before)];
        return at >= 0 && at <= now * (1 + 1e-12);
      });
      if (ready) active.push_back(i);
    }
    std::vector<double> room = capacities, rate(count, -1);
    std::vector<std::size_t> growing = active;
    while (!growing.empty()) {
      std::vector<double> weight(room.size());
      for (const std::size_t i : growing)
        for (const LinkUse& use : route(i).links) weight[std::size_t(use.link)] += use.weight;
      std::size_t tightest = room.size();
      for (std::size_t l = 0; l < room.size(); ++l)
        if (weight[l] > 0 &&
            (tightest == room.size() || room[l] / weight[l] < room[tightest] / weight[tightest]))
          tightest = l;
      const double share = room[tightest] / weight[tightest];
      std::vector<std::size_t> rest;
      for (const std::size_t i : growing) {
        const auto on = [&](const LinkUse& use) { return std::size_t(use.link) == tightest; };
        if (std::none_of(route(i).links.begin(), route(i).links.end(), on)) {
          rest.push_back(i);
          continue;
        }
        rate[i] = share;
        for (const LinkUse& use : route(i).links) room[std::size_t(use.link)] -= use.weight * share;
      }
      growing = rest;
    }
    double next = 1e300;
    for (const std::size_t i : active) next = std::min(next, now + left[i] / rate[i]);
    for (std::size_t i = 0; i < count; ++i)
      if (arrived[i] > now * (1 + 1e-12)) next = std::min(next, arrived[i]);
    if (next > 1e299) return arrived;
    for (const std::size_t i : active) {
      left[i] -= rate[i] * (next - now);
      if (left[i] > 1e-6) continue;
      sent[i] = next;
      arrived[i] = next + static_cast<double>(route(i).latency) * 1e-12;
    }
    now = next;
  }
}

RC_GTEST_PROP(Play, AgreesWithAPlainPlayer, ()) {
  const AnyFlows any = any_flows();
  Transfers t;
  for (const Route& route : any.routes) t.add_route(route, *rc::gen::inRange(0, 3) * 400'000'000);
  const int count = *rc::gen::inRange(1, 25);
  for (int i = 0; i < count; ++i) {
    t.add(*rc::gen::inRange(0, static_cast<int>(any.routes.size())),
          1e-3 * *rc::gen::inRange(1, 200));
    for (int waits = *rc::gen::inRange(0, 3); waits > 0 && i > 0; --waits) {
      const int before = *rc::gen::inRange(0, i);
      if (*rc::gen::arbitrary<bool>())
        t.after_sent(i, before);
      else
        t.after_arrival(i, before);
    }
  }
  const Played played = play(any.capacities, t);
  const std::vector<double> plain = plain_play(any.capacities, t);
  for (std::size_t i = 0; i < plain.size(); ++i)
    RC_ASSERT(std::abs(static_cast<double>(played.arrivals[i]) * 1e-12 - plain[i]) <= 1e-6);
}

}  // namespace
}  // namespace nereus::simulate::network_play_test
