#include "reproduce/stash_claims.hpp"

#include <fmt/format.h>

namespace nereus::app {

namespace {

struct Batches {
  const char* family;
  std::vector<const char*> models;
  std::vector<int> batches;
};

// data/stash/experiments.csv: run_p2.sh, run_p3.sh as analysed, run_bert.sh.
const std::vector<Batches>& batches() {
  static const std::vector<Batches> kList = {
      {"p2",
       {"alexnet", "resnet18", "shufflenet_v2_x0_5", "mobilenet_v2", "squeezenet1_0"},
       {32, 64, 96, 128}},
      {"p3",
       {"alexnet", "resnet18", "shufflenet_v2_x0_5", "mobilenet_v2", "squeezenet1_0"},
       {32, 64, 128, 256}},
      {"p3", {"resnet50", "vgg11"}, {32, 48, 64, 80}},
      {"p3", {"bert-large"}, {4}},
  };
  return kList;
}

}  // namespace

std::string_view to_string(Sums sums) { return sums == Sums::kBuckets ? "buckets" : "tensor"; }
std::string_view to_string(Links links) { return links == Links::kBest ? "best" : "shared"; }

StashClaims::StashClaims(const ReproduceRequest& request, const ReproduceSettings& own)
    : settings(own), request_(request) {
  out.system = "stash";
}

bool StashClaims::stopped() {
  if (request_.stop && request_.stop()) out.complete = false;
  return !out.complete;
}

std::vector<Sums> StashClaims::wanted_sums() const {
  std::vector<Sums> wanted;
  for (const Sums own : {Sums::kBuckets, Sums::kByTensor})
    if (settings.wants("sums", std::string(to_string(own)))) wanted.push_back(own);
  return wanted;
}

std::vector<Links> StashClaims::wanted_links() const {
  std::vector<Links> wanted;
  for (const Links own : {Links::kBest, Links::kShared})
    if (settings.wants("links", std::string(to_string(own)))) wanted.push_back(own);
  return wanted;
}

std::vector<StashRun> StashClaims::runs(const std::string& family) const {
  std::vector<StashRun> wanted;
  for (const Batches& own : batches())
    for (const char* model : own.models)
      for (const int batch : own.batches)
        if (own.family == family && settings.wants("model", model))
          wanted.push_back({model, batch});
  return wanted;
}

const StashNetwork& StashClaims::network(const std::string& model, Norms norms) {
  const auto key = std::make_pair(model, norms);
  const auto known = networks_.find(key);
  return known != networks_.end()
             ? known->second
             : networks_.emplace(key, stash_network(model, norms)).first->second;
}

StashOptions StashClaims::options(Sums sums, Links links) const {
  StashOptions own;
  constexpr double kMega = 1 << 20;
  own.buckets = sums == Sums::kByTensor
                    ? cost::kOneByTensor
                    : cost::BucketLimits{settings.number("first_bucket_mb") * kMega,
                                         settings.number("bucket_mb") * kMega};
  own.links = links;
  own.nccl.network_efficiency = settings.number("network_efficiency");
  own.gradient_bytes = settings.number("gradient_bytes");
  own.launch = settings.number("launch_us") * 1e-6;
  own.host_copy = settings.number("host_copy_gb_s") * 1e9;
  own.pcie = settings.number("pcie_gb_s") * 1e9;
  return own;
}

const StashStep& StashClaims::step(const StashRun& run, const StashMachine& machine, Sums sums,
                                   Links links) {
  const auto key = std::make_tuple(run, machine.name, sums, links);
  const auto known = steps_.find(key);
  if (known != steps_.end()) return known->second;
  const StashStep own = stash_step(network(run.model), machine, options(sums, links), run.batch);
  return steps_.emplace(key, own).first->second;
}

double StashClaims::epoch_seconds(const StashRun& run, const StashMachine& machine, Sums sums,
                                  Links links) {
  const double samples = static_cast<double>(run.batch) * machine.devices();
  return settings.number("images") / samples * step(run, machine, sums, links).all();
}

Claim& StashClaims::add(std::string name, const std::string& part, const std::string& chosen) {
  Claim claim;
  claim.name = std::move(name);
  claim.inputs = "data/stash" + settings.options;
  claim.command =
      fmt::format("nereus reproduce stash --set all.part={}{}{}", part, chosen, settings.options);
  out.claims.push_back(std::move(claim));
  return out.claims.back();
}

}  // namespace nereus::app
