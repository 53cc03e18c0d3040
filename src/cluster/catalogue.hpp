// The machines that Nereus knows by name: accelerators, machines that one can buy, and cloud
// offers, from the built-in files in data/catalog (SOURCES.md there lists their sources).
//
//   const Catalogue& known = builtin_catalogue();
//   known.find_device("A100-80GB");          // by data-sheet name, canonical name or alias
//   known.find_node("dgx-h100");             // machines to buy, then offers by the provider's name
//   for (const Offer& o : known.offers())    // all; why_not says which ones cannot be predicted
//
// Names are compared ignoring case. Nothing is assumed silently: a value that an offer does not
// state is zero in its node, and `why_not`, `why_not_many` and `assumptions` state this.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "cluster/cluster.hpp"

namespace nereus::cluster {

struct Offer {
  Node node;                 // its Price has date, region and source
  std::string gpu_model;     // the provider's name for the device
  std::string why_not;       // "cannot be predicted: ..." or empty
  std::string why_not_many;  // the same for several nodes, if a single one can be predicted
  std::vector<std::string> assumptions;
  std::string network_source;
  std::string notes;
  UsdPerHour spot_min{}, spot_max{};  // over zones, 0 = unknown
};

class Catalogue {
 public:
  // Loads files named "catalog/devices.csv" and so on; throws Errors for a missing or invalid file.
  static Catalogue load(const std::vector<EmbeddedFile>& files);

  const std::vector<Device>& devices() const { return devices_; }
  const std::vector<Node>& nodes() const { return nodes_; }     // machines to buy
  const std::vector<Offer>& offers() const { return offers_; }  // cloud machines

  // nullptr if unknown. A name that stands for several memory sizes ("V100", "A100") means what it
  // means in published tables of runs, or the size given.
  const Device* find_device(std::string_view name, double memory_gb = 0) const;
  const Node* find_node(std::string_view name) const;
  const Offer* find_offer(std::string_view name) const;
  // Accepts canonical names and those of other people's tables; nullopt if unknown or blank.
  std::optional<Precision> find_precision(std::string_view name) const;

  // The error for an unknown name, with the nearest known one: "cluster.unknown-device",
  // "cluster.unknown-node".
  Error unknown_device(std::string_view name, Where where = {}) const;
  Error unknown_node(std::string_view name, Where where = {}) const;

  // The latency of this kind of link without measurements; nullopt for "other".
  std::optional<Seconds> usual_latency(LinkKind kind) const;
  // Every name that find_device knows, as written in the files (without aliases of unknown
  // devices).
  std::vector<std::string> device_names() const;

 private:
  struct Alias {
    std::string name;
    double memory_gb = 0;  // 0 = any
    int device = 0;
  };

  void read_devices(std::string_view text);
  void read_device_aliases(std::string_view text);
  void read_precisions(std::string_view text);
  void read_links(std::string_view text);
  void read_nodes(std::string_view text);
  void read_offers(std::string_view text);

  std::vector<Device> devices_;
  std::vector<Node> nodes_;
  std::vector<Offer> offers_;
  std::vector<Alias> aliases_;
  std::unordered_map<std::string, int> device_by_name_;  // lower case
  std::unordered_map<std::string, int> node_by_name_;    // offers follow nodes_
  std::unordered_map<std::string, Precision> precisions_;
  std::vector<std::pair<LinkKind, Seconds>> latencies_;
};

const Catalogue& builtin_catalogue();  // read once, at the first call

}  // namespace nereus::cluster
