// Simulates transfers on links: a discrete-event simulation in integer picoseconds.
//
// A transfer starts when everything it waits for has happened: other transfers have arrived
// (`after_arrival`) or were sent (`after_sent`). While it is in flight, it gets its max-min fair
// share of the links of its route (simulate/network/sharing.hpp); shares change only when a
// transfer starts or ends. When all its bytes are carried, its last byte leaves (the transfer is
// sent); it arrives after the route's latency (cut-through, no store and forward). Everything that
// happens in the same picosecond happens together, so the order of transfers in the list never
// matters.
//
// Transfers in flight on the same route have the same rate r. So all of them have carried s =
// integral of r dt since the route was last empty. A transfer with b bytes that starts at s0 is
// done when s reaches s0 + b. The order of completion never changes, whatever the rates are, and a
// change of rates costs one operation per route instead of one per transfer.
//
//   Transfers t;
//   const int route = t.add_route({{0, 1}}, picoseconds(1e-6));
//   const int first = t.add(route, 1e6);
//   t.after_arrival(t.add(route, 1e6), first);
//   play({50e9}, t).end;      // links in bytes per second
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/network/event_queue.hpp"
#include "simulate/network/sharing.hpp"

namespace nereus::simulate {

Picoseconds picoseconds(double seconds);  // rounded to the nearest

class Transfers {
 public:
  int add_route(Route links, Picoseconds latency);
  int add(int route, double bytes);
  void after_arrival(int transfer, int before);
  void after_sent(int transfer, int before);

  struct Transfer {
    int route = 0;
    double bytes = 0;
  };
  struct RouteOf {
    Route links;
    Picoseconds latency = 0;
  };
  struct Wait {
    int before = 0, transfer = 0;
    bool sent = false;  // true: waits until it is sent; false: until it has arrived
  };
  const std::vector<Transfer>& list() const { return list_; }
  const std::vector<RouteOf>& routes() const { return routes_; }
  const std::vector<Wait>& waits() const { return waits_; }

 private:
  std::vector<Transfer> list_;
  std::vector<RouteOf> routes_;
  std::vector<Wait> waits_;
};

struct Played {
  std::vector<Picoseconds> arrivals;  // per transfer
  Picoseconds end = 0;
  std::int64_t events = 0;  // starts, ends and arrivals
};

// `capacities` are in bytes per second. Waits must not form a cycle.
Played play(const std::vector<double>& capacities, const Transfers& transfers);

}  // namespace nereus::simulate
