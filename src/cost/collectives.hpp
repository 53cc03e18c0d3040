// Time of collectives on a machine with two levels: fast links inside a node (or NVLink domain),
// and a network between nodes that the devices of a node share.
//
// A ring over n ranks moves (n-1)/n of the bytes through every rank once per phase. All-reduce has
// two phases, all-gather and reduce-scatter have one. A ring that crosses nodes leaves each node
// through the network cards of the r ranks that the group has on that node, so its rate is
// min(link, r * card) (NCCL builds one ring per card; other groups use the other cards at the same
// time). Start-up is one step per rank inside a node and one step per node outside. All-reduce may
// instead use a (double binary) tree, with 2 log2(nodes) steps outside (Sanders 2009; NCCL 2.4).
//   all_reduce     = 2 (n-1)/n B / rate + 2 min(ring steps, tree steps)
//   all_gather     =   (n-1)/n B / rate + ring steps          B = bytes of the whole
//   reduce_scatter = all_gather
//   all_to_all     = max(share inside / link, share outside / card) + a step inside, a step outside
//   dispatch       = an all-to-all of tokens that each go to k ranks: either every copy is sent
//                    separately, or each token is sent once to each rank of its own node that
//                    gets a copy, and once to each other node that gets one, which passes it on
//                    to its ranks. k copies that go to N places uniformly reach
//                    N (1 - (1 - 1/N)^k) different places.
//   broadcast      = B / rate + tree steps
// All collectives except all-reduce wait for the slowest link of a ring: over N > 4 domains, the
// time of these collectives is multiplied by 1 + jitter log2(N / 4).
// An all-gather of uneven pieces, B bytes in total, takes the faster of
//   padded   = (n-1)/n * (n * largest) / rate + 1.18 * ring steps  pieces padded to the largest
//   grouped  = (n-1)/n * B / (0.77 * rate) + ring steps            one broadcast per piece
// 1.18 and 0.77 are fitted to measured times of both forms from 8 kB to 512 MB (UCC's NCCL backend,
// 8 GPUs of one node: github.com/openucx/ucc/pull/347): grouped is faster below a few MB, padded
// above if the pieces are nearly even. Reduce-scatters of uneven pieces are assumed to cost the
// same.
//
// Topologies. A device has a total rate R on any level, divided among its links: 2 on a ring, 6 on
// a torus (three dimensions, as in cluster files), N - 1 on a full connection of N
// devices, 1 to a switch. Rings over a whole level use every link (in both directions; Patarasuk
// 2009). So all-reduce, all-gather and reduce-scatter move the same bytes at rate R on all
// topologies. The differences are:
//   all-to-all     A message in a ring of n passes floor(n^2/4) / (n-1) links on average. So
//                  n (n-1) messages of B/n keep the 2 n links (R/2 each) busy for floor(n^2/4)/n *
//                  B/R: about n/4 times as long as on a switch. On a torus with side a = n^(1/3) a
//                  message passes a/4 links on average in each dimension, and each dimension has 2
//                  of the 6 links, so it takes 3 a/4 times as long as on a switch, but never less
//                  than there. The start-up is the longest path:
//                  n/2 links of a ring, 3 a/2 of a torus.
//   subgroups      Two devices of a full connection share one link, so a group of m of the N
//                  devices has (m-1)/(N-1) of R.
//   send           uses one link: R/(N-1) on a full connection, R/2 on a ring (of two devices: R),
//                  R/6 on a torus. Assumes that the two devices are neighbors and that a device
//                  sends one message at a time, as between stages, so the link carries no other
//                  message.
//   ring steps     a torus needs 3 (a-1), one dimension after the other, instead of n-1.
// Assumed: groups on a ring or torus are themselves rings and tori of the group's size. A fat tree
// is modeled as a switch with the level's oversubscription. A dragonfly is modeled as a switch
// without oversubscription, because the minimal routes of a balanced dragonfly carry uniform
// traffic at the full rate (2 h = a = 2 p; Kim 2008). Traffic from one dragonfly group to one other
// group, which minimal routing sends over one link, is not modeled.
#pragma once

#include "cluster/cluster.hpp"

namespace nereus::cost {

// Rates are the bytes per second that collectives reach in practice.
struct Fabric {
  double link = 0;             // one way, per device, inside the fast domain
  double link_latency = 0;     // per step inside the domain
  double network = 0;          // one way, per device, between domains
  double network_latency = 0;  // per step between domains
  int domain = 8;              // number of devices in the fast domain
  double jitter = 0;           // growth of network time per doubling of the nodes
  cluster::TopologyKind inside = cluster::TopologyKind::kSwitch;   // of the fast domain
  cluster::TopologyKind between = cluster::TopologyKind::kSwitch;  // of the network
  int num_joined = 1;  // number of domains that the network joins
  bool operator==(const Fabric&) const = default;
};

// `size` ranks, `per_node` of them in each fast domain.
struct Group {
  int size = 1;
  int per_node = 1;
};

// A group whose ranks are `stride` apart.
Group group_of(int size, int stride, int domain);

double all_reduce_seconds(const Fabric& fabric, Group group, double bytes);
double all_gather_seconds(const Fabric& fabric, Group group, double bytes);
double reduce_scatter_seconds(const Fabric& fabric, Group group, double bytes);
double all_to_all_seconds(const Fabric& fabric, Group group,
                          double bytes);  // bytes that each rank sends
// `bytes` counts all copies of each token. `once` is the share of duplicate copies that are left
// out (0: every copy is sent).
double dispatch_seconds(const Fabric& fabric, Group group, double bytes, double copies,
                        double once);
double broadcast_seconds(const Fabric& fabric, Group group, double bytes);
double send_seconds(const Fabric& fabric, bool same_domain, double bytes);
// All-gather of pieces of different sizes: `total` bytes, of which the largest piece has `largest`.
double all_gather_uneven_seconds(const Fabric& fabric, Group group, double total, double largest);
struct UnevenSeconds {
  double padded = 0;
  double grouped = 0;
};
UnevenSeconds uneven_forms(const Fabric& fabric, Group group, double total, double largest);

}  // namespace nereus::cost
