#include "cost/measured_network.hpp"

#include <gtest/gtest.h>

#include "cluster/this_machine.hpp"
#include "cost/machine_rates.hpp"
#include "stack/stack_file.hpp"

namespace nereus::cost::measured_network_test {
namespace {

profile::Collective collective(const char* kind, int ranks, int hosts, double bytes,
                               double seconds) {
  return {kind, "shared", ranks, hosts, bytes, {seconds, seconds, seconds, 3}};
}

// A machine whose collectives take exactly what the model says of that fabric.
profile::Machine machine_of(const Fabric& fabric, int hosts) {
  profile::Machine machine;
  machine.context.device = "CPU";
  for (const int ranks : {2, 4})
    for (const double bytes : {4e3, 1e6, 3e7}) {
      const Group group{ranks * hosts, ranks};
      machine.collectives.push_back(collective("all_reduce", ranks * hosts, hosts, bytes,
                                               all_reduce_seconds(fabric, group, bytes)));
      machine.collectives.push_back(collective("all_gather", ranks * hosts, hosts, bytes,
                                               all_gather_seconds(fabric, group, bytes)));
    }
  return machine;
}

TEST(MeasuredNetwork, FindsTheNumbersBehindItsTimes) {
  Fabric fabric;
  fabric.link = 3e9;
  fabric.link_latency = 2e-5;
  fabric.domain = 4;
  const MeasuredNetwork found = fit_network(machine_of(fabric, 1), "CPU");
  EXPECT_NEAR(found.inside.rate, 3e9, 1e3);
  EXPECT_NEAR(found.inside.latency, 2e-5, 1e-11);
  EXPECT_LT(found.inside.error, 1e-9);
  EXPECT_EQ(found.inside.rows, 12);
  EXPECT_EQ(found.between.rate, 0) << "nobody measured between hosts";
}

TEST(MeasuredNetwork, BetweenHostsRingsWithMostRanksCount) {
  Fabric fabric;
  fabric.link = 1e300;  // the network is what is slow
  fabric.network = 5e8;
  fabric.network_latency = 1e-4;
  fabric.domain = 4;
  profile::Machine machine = machine_of(fabric, 2);
  const MeasuredNetwork found = fit_network(machine, "CPU");
  EXPECT_NEAR(found.between.rate, 5e8, 1e2);
  EXPECT_NEAR(found.between.latency, 1e-4, 1e-10);
  EXPECT_EQ(found.between.rows, 6) << "those of four ranks a host";
  EXPECT_EQ(found.inside.rate, 0);
}

TEST(MeasuredNetwork, NoLatencyBelowZero) {
  profile::Machine machine;
  machine.collectives = {collective("all_reduce", 2, 1, 1e3, 1e-9),
                         collective("all_reduce", 2, 1, 1e6, 1e-3)};
  const MeasuredNetwork found = fit_network(machine, "CPU");
  EXPECT_EQ(found.inside.latency, 0);
  EXPECT_GT(found.inside.rate, 0);
}

TEST(MeasuredNetwork, HostMemoryIsAsFarAsPinnedCopiesSay) {
  const cluster::Cluster here = cluster::this_machine(1, "cuda");
  Basis basis(load_stack("generic"));
  profile::Machine machine;
  machine.copies = {{"host_to_device_pageable", 1e8, {5e9, 5e9, 5e9, 3}},
                    {"host_to_device_pinned", 1e8, {52e9, 52e9, 52e9, 3}},
                    {"device_to_host_pinned", 1e8, {48e9, 48e9, 48e9, 3}}};
  auto networks = std::make_shared<MeasuredNetworks>();
  networks->list.push_back(fit_network(machine, here.groups.front().node.device.short_name));
  const double stated = make_machine(here, 0, basis).tier(plan::Tier::kHost).rate;
  basis.networks = networks;
  EXPECT_EQ(make_machine(here, 0, basis).tier(plan::Tier::kHost).rate, 48e9);
  EXPECT_NE(stated, 48e9);
}

TEST(MeasuredNetwork, TakesThePlaceOfWhatTheClusterStates) {
  const cluster::Cluster here = cluster::this_machine(4, "cpu");
  Basis basis(load_stack("nereus"));
  const Fabric stated = make_machine(here, 0, basis).fabric;
  auto networks = std::make_shared<MeasuredNetworks>();
  networks->list.push_back({"CPU", "shared", {7e9, 3e-6, 0.1, 4}, {}, 0});
  basis.networks = networks;
  const Fabric measured = make_machine(here, 0, basis).fabric;
  EXPECT_EQ(measured.link, 7e9);
  EXPECT_EQ(measured.link_latency, 3e-6);
  EXPECT_EQ(measured.network, stated.network);
  networks->list.front().device = "H100";
  EXPECT_EQ(make_machine(here, 0, basis).fabric, stated) << "of another device";
}

TEST(MeasuredNetwork, HidesNothingBehindCoresThatAreAllBusy) {
  const cluster::Cluster here = cluster::this_machine(4, "cpu");
  Basis basis(load_stack("nereus"));
  const double stated = make_machine(here, 0, basis).parameters.data_overlap;
  ASSERT_GT(stated, 0);
  profile::Machine machine;
  machine.context.device = "CPU";
  machine.context.hosts = 1;
  machine.context.ranks = 4;
  machine.context.threads = 2;
  machine.collectives = {collective("all_reduce", 4, 1, 1e6, 1e-3)};
  const auto overlap = [&](int cores) {
    machine.context.cores = cores;
    auto networks = std::make_shared<MeasuredNetworks>();
    networks->list.push_back(fit_network(machine, "CPU"));
    basis.networks = networks;
    return make_machine(here, 0, basis).parameters.data_overlap;
  };
  EXPECT_EQ(overlap(8), 0);
  EXPECT_EQ(overlap(16), stated) << "others are free for it";
  EXPECT_EQ(overlap(0), stated) << "nobody knows";
  machine.context.hosts = 2;
  EXPECT_EQ(overlap(8), stated) << "a network is waited for";
}

}  // namespace
}  // namespace nereus::cost::measured_network_test
