// Shared by the parts of `reproduce stash`: settings, the claims so far, and a cache of predicted
// steps. Only for use inside reproduce/.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "reproduce/reproduce_settings.hpp"
#include "reproduce/stash_steps.hpp"

namespace nereus::app {

enum class Sums { kBuckets, kByTensor };
std::string_view to_string(Sums sums);    // "buckets", "tensor"
std::string_view to_string(Links links);  // "best", "shared"

// One run of Stash: a network, and samples per device.
struct StashRun {
  std::string model{};
  int batch = 0;
  bool operator<(const StashRun& other) const {
    return std::tie(model, batch) < std::tie(other.model, other.batch);
  }
};

class StashClaims {
 public:
  StashClaims(const ReproduceRequest& request, const ReproduceSettings& settings);

  bool stopped();
  bool wants(const std::string& part) const { return settings.wants("part", part); }
  std::vector<Sums> wanted_sums() const;
  std::vector<Links> wanted_links() const;
  // The batches that Stash's scripts run on machines of this family ("p2", "p3"), for requested
  // models only.
  std::vector<StashRun> runs(const std::string& family) const;

  const StashNetwork& network(const std::string& model, Norms norms = Norms::kAll);
  StashOptions options(Sums sums, Links links) const;
  const StashStep& step(const StashRun& run, const StashMachine& machine, Sums sums, Links links);
  double epoch_seconds(const StashRun& run, const StashMachine& machine, Sums sums, Links links);

  // `chosen` are the options that select the claim: " --set all.sums=tensor".
  Claim& add(std::string name, const std::string& part, const std::string& chosen = {});

  const ReproduceSettings& settings;
  const std::vector<StashMachine> machines = stash_machines();
  ReproduceAnswer out;

 private:
  const ReproduceRequest& request_;
  std::map<std::pair<std::string, Norms>, StashNetwork> networks_;
  std::map<std::tuple<StashRun, std::string, Sums, Links>, StashStep> steps_;
};

void add_stash_cost(StashClaims& claims);
void add_stash_dearer(StashClaims& claims);
void add_stash_collectives(StashClaims& claims);
void add_stash_layers(StashClaims& claims);
void add_stash_formulas(StashClaims& claims);

}  // namespace nereus::app
