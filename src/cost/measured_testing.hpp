// A profile of OPT-350M on a plain device, and a machine with two such devices.
#pragma once

#include <vector>

#include "cost/cost_testing.hpp"
#include "cost/measured.hpp"

namespace nereus::cost::testing {

using profile::MeasuredLayer;
using profile::Role;

// One node of two plain devices.
inline cluster::Cluster plain_cluster() {
  cluster::Cluster cluster;
  cluster.name = "two";
  cluster::NodeGroup group;
  group.node.name = "node";
  group.node.num_devices = 2;
  group.node.inside.bandwidth = BytesPerSecond{1e11};
  group.node.network = BytesPerSecond{1e10};
  group.node.device = testing::plain_device();
  cluster.groups = {group};
  return cluster;
}

inline MeasuredLayer measured_layer(Role role, double parameters, std::vector<double> forward) {
  MeasuredLayer l;
  l.model = "OPT-350";
  l.role = role;
  l.seq = 2048;
  l.elements = 2048 * 1024;
  l.parameters = parameters;
  l.device = "plain";
  l.precision = "fp32";
  l.includes_launches = true;
  l.samples = {1, 2, 4};
  l.forward = std::move(forward);
  for (const double f : l.forward) l.backward.push_back(2 * f);
  return l;
}

inline profile::Profile opt_profile() {
  profile::Profile p;
  p.layers = {measured_layer(Role::kEmbedding, 53608448, {1e-4, 2e-4, 4e-4}),
              measured_layer(Role::kBlock, 12596224, {0.010, 0.018, 0.030}),
              measured_layer(Role::kHead, 51513344, {0.020, 0.036, 0.070})};
  return p;
}

}  // namespace nereus::cost::testing
