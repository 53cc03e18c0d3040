// A SPEC string, and the same text as a cluster file. What loads must come back equal from its
// JSON.
#include "cluster/check_cluster.hpp"
#include "cluster/links.hpp"
#include "cluster/load_cluster.hpp"
#include "cluster/read.hpp"
#include "cluster/write_cluster.hpp"
#include "fuzz.hpp"

namespace nereus::cluster {
namespace {

void use(const Cluster& cluster) {
  ErrorList errors;
  check_cluster(cluster, errors);
  errors.throw_if_any();
  link_between(cluster, 0, cluster.num_devices() - 1);
  const spec::Value written = spec::parse_json(cluster_to_json(cluster), "fuzz.json");
  const Cluster back = cluster_from_value(written, errors);
  if (!errors.empty() || !(back == cluster)) std::abort();
}

void spec_text(std::string_view text) {
  ErrorList errors;
  const Cluster cluster = parse_cluster_spec(text, errors);
  errors.throw_if_any();
  use(cluster);
}

void file_text(std::string_view text) {
  ErrorList errors;
  const spec::Value value = spec::parse_toml(text, "fuzz.toml");
  const Cluster cluster = cluster_from_value(value, errors);
  errors.throw_if_any();
  use(cluster);
}

}  // namespace
}  // namespace nereus::cluster

NEREUS_FUZZER(cluster_spec)(const std::uint8_t* data, std::size_t size) {
  nereus::fuzz(data, size, nereus::cluster::spec_text);
  return nereus::fuzz(data, size, nereus::cluster::file_text);
}
