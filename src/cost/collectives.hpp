// Time of collectives on a two-level machine: fast links inside a node (or NVLink domain), a
// network between nodes that the devices of a node share.
//
// A ring over n ranks moves (n-1)/n of the bytes through every rank once per phase; all-reduce has
// two phases, all-gather and reduce-scatter one. Where the ring crosses nodes it leaves each node
// through the network cards of the group's own r ranks there, so its rate is min(link, r * card)
// (NCCL builds one ring per card; other groups use the other cards at the same time). Start-up: one
// step a rank inside, one a node outside; all-reduce may instead take a (double binary) tree, 2
// log2(nodes) steps outside (Sanders 2009; NCCL 2.4).
//   all_reduce     = 2 (n-1)/n B / rate + min(ring steps, tree steps)
//   all_gather     =   (n-1)/n B / rate + ring steps          B = the gathered whole
//   reduce_scatter = all_gather
//   all_to_all     = max(share inside / link, share outside / card) + one step each
//   dispatch       = an all-to-all of tokens that go to k of the ranks each: every copy on its own,
//                    or once to each rank of the node and once to each other node, where it is
//                    passed on inside. Of k copies to N uniform places N (1 - (1 - 1/N)^k) differ.
//   broadcast      = B / rate + tree steps
// All but all-reduce wait for the slowest link of a ring: over N > 4 domains times
// 1 + jitter log2(N / 4).
// Uneven pieces of B bytes in all, the faster of
//   padded   = (n-1)/n (n largest) / rate + 1.18 ring steps    pieces padded to the largest, copied
//   grouped  = (n-1)/n B / (0.77 rate) + ring steps            a broadcast each, launched together
// The two numbers are fitted to measured times of both forms from 8 kB to 512 MB (UCC's NCCL
// backend, 8 GPUs of one node: github.com/openucx/ucc/pull/347): grouped below some MB, padded
// above where pieces are nearly even. Reduce-scatters of uneven pieces are taken to cost the same.
//
// Topologies. A device has its whole rate R on any level, cut into links: ring 2, torus 6 (three
// dimensions, which is what clusters state), full connection of N devices N - 1, to a switch 1.
// Rings over a whole level use every link (both ways round; Patarasuk 2009), so all-reduce,
// all-gather and reduce-scatter take the same bytes at R on all of them. What differs:
//   all-to-all     A message of a ring of n passes floor(n^2/4) / (n-1) links on average, so that
//                  n (n-1) messages of B/n load the 2 n links of R/2 for floor(n^2/4)/n B / R:
//                  about n/4 of the switch's. A side of a torus, a = n^(1/3), carries all bytes a/4
//                  links far over 2 of 6 links: 3 a/4. Never less than a switch. Its start-up is
//                  the longest way: n/2 links of a ring, 3 a/2 of a torus.
//   few of many    A pair of a full connection has one link: m of N devices reach (m-1)/(N-1) of R.
//   send           one link: R/(N-1) of a full connection, R/2 of a ring (of two: R), R/6 of a
//                  torus. Assumed: neighbours, and one message at a time from a device, as between
//                  stages; then no other message is on that link.
//   ring steps     a torus needs 3 (a-1) of them, one dimension after the other, not n-1.
// Assumed: groups of a ring or torus are rings and tori of their own size. A fat tree is a switch
// with the level's oversubscription; so is a dragonfly, whose minimal routes carry uniform traffic
// in full where it is balanced (2 h = a = 2 p; Kim 2008): a factor of 1. Traffic of one group of it
// to one other, which minimal routing sends over one link, is not modelled.
#pragma once

#include "cluster/cluster.hpp"

namespace nereus::cost {

// Rates are bytes per second that collectives really reach.
struct Fabric {
  double link = 0;             // one way, per device, inside the fast domain
  double link_latency = 0;     // per step inside
  double network = 0;          // one way, per device, between domains
  double network_latency = 0;  // per step between
  int domain = 8;              // devices in the fast domain
  double jitter = 0;           // growth of network time per doubling of the nodes
  cluster::TopologyKind inside = cluster::TopologyKind::kSwitch;   // of the fast domain
  cluster::TopologyKind between = cluster::TopologyKind::kSwitch;  // of the network
  int num_joined = 1;                                              // domains that the network joins
  bool operator==(const Fabric&) const = default;
};

// `size` ranks, `per_node` of them in each fast domain.
struct Group {
  int size = 1;
  int per_node = 1;
};

// A group whose ranks are `stride` apart in rank order.
Group group_of(int size, int stride, int domain);

double all_reduce_seconds(const Fabric& fabric, Group group, double bytes);
double all_gather_seconds(const Fabric& fabric, Group group, double bytes);
double reduce_scatter_seconds(const Fabric& fabric, Group group, double bytes);
double all_to_all_seconds(const Fabric& fabric, Group group,
                          double bytes);  // bytes each rank sends
// `bytes` count all copies of each token; `once` is the share of the doubles that is not sent.
double dispatch_seconds(const Fabric& fabric, Group group, double bytes, double copies,
                        double once);
double broadcast_seconds(const Fabric& fabric, Group group, double bytes);
double send_seconds(const Fabric& fabric, bool same_domain, double bytes);
// Pieces of different sizes: `total` bytes in all, the largest piece `largest`.
double all_gather_uneven_seconds(const Fabric& fabric, Group group, double total, double largest);
struct UnevenSeconds {
  double padded = 0;
  double grouped = 0;
};
UnevenSeconds uneven_forms(const Fabric& fabric, Group group, double total, double largest);

}  // namespace nereus::cost
