#include "cluster/write_cluster.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "cluster/cluster_testing.hpp"
#include "cluster/load_cluster.hpp"
#include "cluster/read.hpp"

namespace nereus::cluster::write_cluster_test {
namespace {

Cluster read_back(const spec::Value& value) {
  ErrorList errors;
  Cluster cluster = cluster_from_value(value, errors);
  errors.throw_if_any();
  return cluster;
}

TEST(ClusterJson, RoundTripsCatalogueMachines) {
  for (const char* spec : {"16xdgx-h100", "4xp4d.24xlarge+8xg5.48xlarge", "18xgb200-nvl72",
                           "1x\"n1-standard-8 + 1xT4\"", "3xtpu-v4"}) {
    const Cluster cluster = load_cluster(spec);
    EXPECT_EQ(read_back(spec::parse_json(cluster_to_json(cluster), "plan")), cluster) << spec;
  }
}

TEST(ClusterJson, NamesTheUnitOfEveryNumber) {
  const std::string json = cluster_to_json(load_cluster("2xdgx-a100-80"));
  for (const char* part : {"\"memory_bytes\":85899345920", "\"bf16_flop_per_s\":312000000000000",
                           "\"network_bytes_per_s\":200000000000", "\"latency_s\":"})
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
}

TEST(ClusterJson, RandomClustersComeBackEqual) {
  rc::check("JSON", [] {
    const Cluster cluster = *random_cluster();
    RC_ASSERT(read_back(spec::parse_json(cluster_to_json(cluster), "plan")) == cluster);
  });
  rc::check("with units", [] {
    const Cluster cluster = *random_cluster();
    RC_ASSERT(read_back(cluster_to_value(cluster, Form::kWritten)) == cluster);
  });
}

}  // namespace
}  // namespace nereus::cluster::write_cluster_test
