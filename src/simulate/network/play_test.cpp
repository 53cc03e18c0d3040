#include "simulate/network/play.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace nereus::simulate {
namespace {

constexpr double kGB = 1e9;

TEST(Sharing, FlowsThatMeetShareAndTheOthersTakeTheRest) {
  // Links of 10 and 4: one flow on both, one on each.
  Sharing sharing({10, 4});
  const Route both{{0, 1}, {1, 1}}, first{{0, 1}}, second{{1, 1}};
  std::vector<double> rates;
  sharing.solve({&both, &first, &second}, rates);
  EXPECT_EQ(rates, (std::vector<double>{2, 8, 2}));
  sharing.solve({&both}, rates);
  EXPECT_EQ(rates, (std::vector<double>{4}));
}

RC_GTEST_PROP(Sharing, FillsNoLinkAboveItsCapacityAndEachFlowHasAFullLink, ()) {
  const int links = *rc::gen::inRange(1, 8), count = *rc::gen::inRange(1, 20);
  std::vector<double> capacities;
  for (int i = 0; i < links; ++i) capacities.push_back(*rc::gen::inRange(1, 100));
  std::vector<Route> routes;
  for (int i = 0; i < count; ++i) {
    Route route;
    for (int l = 0; l < links; ++l)
      if (*rc::gen::inRange(0, 2) == 1) route.push_back({l, double(*rc::gen::inRange(1, 3))});
    if (route.empty()) route.push_back({*rc::gen::inRange(0, links), 1});
    routes.push_back(route);
  }
  std::vector<const Route*> flows;
  for (const Route& route : routes) flows.push_back(&route);
  std::vector<double> rates, load(static_cast<std::size_t>(links));
  Sharing(capacities).solve(flows, rates);
  for (std::size_t f = 0; f < routes.size(); ++f)
    for (const LinkUse& use : routes[f]) load[std::size_t(use.link)] += use.weight * rates[f];
  for (std::size_t l = 0; l < load.size(); ++l) RC_ASSERT(load[l] <= capacities[l] * (1 + 1e-6));
  for (std::size_t f = 0; f < routes.size(); ++f) {
    // Max-min: on some full link nobody has more.
    bool held = false;
    for (const LinkUse& use : routes[f]) {
      const auto l = std::size_t(use.link);
      if (load[l] < capacities[l] * (1 - 1e-6)) continue;
      bool most = true;
      for (std::size_t g = 0; g < routes.size(); ++g)
        for (const LinkUse& other : routes[g])
          if (other.link == use.link && rates[g] > rates[f] * (1 + 1e-6)) most = false;
      held |= most;
    }
    RC_ASSERT(held);
  }
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

}  // namespace
}  // namespace nereus::simulate
