// Max-min fair shares: how flows divide the links they meet on, kept up to date as flows come and
// go.
//
// A flow on route f crosses link l w(f,l) times (w counts how many flows alike share the link where
// one stands for many) and gets rate x(f). Progressive filling: raise all rates together until a
// link is full (sum_f w(f,l) x(f) = capacity), freeze the flows on it, go on with the rest. The
// result is the only allocation in which no flow can get more without taking from one that has no
// more (Bertsekas, Gallager 1987, section 6.5).
//
// Flows of one route have one rate, so a route with its number of flows is what is solved for. When
// flows come or go, the routes on their links are solved anew while all others keep their rates;
// then the condition above is looked at on every link that this touched: each route has a full link
// on which nobody has more. Where that fails for a route that kept its rate, or because of it, the
// routes of that link are solved too, and so on. What comes out fulfils the condition everywhere,
// so it is the one allocation; most changes end after a few links. Nothing is allocated once the
// lists have grown.
//
//   Sharing sharing(capacities, routes);
//   sharing.add(0);                                   // one more flow on route 0
//   for (const int route : sharing.solve()) sharing.rate(route);   // in the unit of the capacities
#pragma once

#include <cstdint>
#include <vector>

namespace nereus::simulate {

struct LinkUse {
  int link = 0;
  double weight = 1;
  bool operator==(const LinkUse&) const = default;
};
using Route = std::vector<LinkUse>;  // no link twice, never empty

class Sharing {
 public:
  Sharing(std::vector<double> capacities, const std::vector<const Route*>& routes);

  void add(int route);
  void remove(int route);
  // Routes whose rate may have changed since the last call, each once; deterministic.
  const std::vector<int>& solve();

  double rate(int route) const { return routes_[static_cast<std::size_t>(route)].rate; }
  int num_flows(int route) const { return routes_[static_cast<std::size_t>(route)].flows; }

 private:
  struct RouteState {
    int first_use = 0, end_use = 0;  // in uses_
    int flows = 0;
    int held_by = -1;  // the full link on which nobody has more
    double rate = 0;
    bool free = false;     // while solving: its rate is looked for
    bool growing = false;  // while filling: not yet frozen
  };
  struct LinkState {
    double capacity = 0;
    double left = 0;    // while filling: what those with a rate leave
    double weight = 0;  // while filling: of the flows still growing
    bool changed = false, found = false;
    std::vector<int> users;  // uses of routes that have flows
  };
  struct Use {
    int link = 0, route = 0;
    double weight = 1;
    int position = -1;  // among the link's users
  };

  void change(const RouteState& route);
  bool alone(const RouteState& route) const;
  void solve_alone();
  void set_free(const LinkState& link);
  void fill();
  bool unfair(int link) const;

  std::vector<RouteState> routes_;
  std::vector<LinkState> links_;
  std::vector<Use> uses_;
  std::vector<int> changed_;  // links
  std::vector<int> found_routes_, found_links_;
  std::vector<int> open_, full_;  // links, of fill()
  std::size_t num_alone_ = 0;     // the first of found_routes_
};

}  // namespace nereus::simulate
