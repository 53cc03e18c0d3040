// Max-min fair shares: how flows share links, updated as flows start and end.
//
// A flow on route f crosses link l w(f,l) times (if one flow represents several equal flows, w
// counts all of them on the link) and gets rate x(f). Progressive filling: raise all rates together
// until a link is full (sum_f w(f,l) x(f) = capacity), freeze the flows on it, continue with the
// rest. The result is the only allocation in which no flow can get more without taking from a flow
// that has no more than itself (Bertsekas, Gallager 1987, section 6.5).
//
// Flows on the same route have the same rate, so the unknowns are the rates of routes, with their
// numbers of flows. When flows start or end, the routes on their links are solved again, while all
// others keep their rates. Then every touched link is checked for the condition above: each route
// must have a full link on which no other route has a higher rate. If the condition fails for a
// route that kept its rate, or because of such a route, all routes of that link are solved again
// too, and so on. The result satisfies the condition everywhere, so it is the unique allocation;
// most changes end after a few links. Once the lists have grown, nothing is allocated.
//
//   Sharing sharing(capacities, routes);
//   sharing.add(0);                                   // one more flow on route 0
//   for (const int route : sharing.solve()) sharing.rate(route);   // in the unit of capacities
#pragma once

#include <cstdint>
#include <vector>

namespace nereus::simulate {

struct LinkUse {
  int link = 0;
  double weight = 1;
  bool operator==(const LinkUse&) const = default;
};
using Route = std::vector<LinkUse>;  // no duplicate links, never empty

class Sharing {
 public:
  Sharing(std::vector<double> capacities, const std::vector<const Route*>& routes);

  void add(int route);
  void remove(int route);
  // Returns the routes whose rate may have changed since the last call, without duplicates;
  // deterministic.
  const std::vector<int>& solve();

  double rate(int route) const { return routes_[route].rate; }
  int num_flows(int route) const { return routes_[route].flows; }

 private:
  struct RouteState {
    int first_use = 0, end_use = 0;  // in uses_
    int flows = 0;
    int held_by = -1;  // the full link on which no other route has a higher rate
    double rate = 0;
    bool free = false;     // while solving: its rate is not decided yet
    bool growing = false;  // while filling: not yet frozen
  };
  struct LinkState {
    double capacity = 0;
    double left = 0;    // while filling: capacity minus the flows with a known rate
    double weight = 0;  // while filling: of the flows that still grow
    bool changed = false, found = false;
    std::vector<int> users;  // uses of routes with flows
  };
  struct Use {
    int link = 0, route = 0;
    double weight = 1;
    int position = -1;  // index in the link's users
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
  std::vector<int> open_, full_;  // links, in fill()
  std::size_t num_alone_ = 0;     // the first entries of found_routes_
};

}  // namespace nereus::simulate
