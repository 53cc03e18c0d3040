// Layers of a model whose times were measured (profile/profile.hpp), by device, precision and tp.
//
// A measured layer is one of the model's where role, size of a sample (seq, or seq x hidden) and
// hidden agree, and
//   block      its parameters within 1 %
//   embedding  its parameters within 5 % (vocabularies are padded), as are its model's blocks
//   named      as nereus measure names it, `layer` being the model's own name: what it reads, and
//              its parameters within 1 %
//   vision     what the layer reads, and its parameters within 5 % (norms and biases); pools by
//              their kind
//   head       the same, within 5 % of vocabulary x hidden; or nothing but norms, where the weights
//              are the embedding's
// A time below half of what the device's peak allows, or a fifth of a second at less than 1/2000 of
// it, measures something else. Precision fp32 is that of activations: it serves fp32 and tf32.
//
// Measured times stand in for the kernel model's (cost/layer_cost.hpp), forward and backward;
// attention and weight gradients keep their share of them. Between points the line, beyond them an
// extrapolation (profile/profile.hpp). A layer that was measured at other tp alone, or runs under
// cp, takes what the kernel model says times measured / modelled at the least tp that was: else
// plans would look good for not having been measured. Where tensor collectives or launches are part
// of what was measured they cost nothing more. Layers with experts and embedding tables are
// modelled.
//
// Memory that blocks keep for backward, where it was measured, grows with the samples; what
// selective recompute drops keeps its share. Recomputed blocks keep what the model says.
//
//   auto measured = match_layers({{profile, "a100.json"}}, model, cluster);   // throws Errors
//   basis.layers = std::make_shared<const MeasuredLayers>(std::move(measured));
//   Predictor(model, cluster, basis, 64).predict(degrees);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "profile/profile.hpp"

namespace nereus::cost {

struct KindCost;
struct LayerCost;
struct LayerSplit;

struct MeasuredKind {
  int tp = 1;
  profile::TimeCurve forward{};
  profile::TimeCurve backward{};  // empty: not measured
  bool collectives = false;       // are part of the times
  bool launches = false;
  double memory = 0;    // bytes kept for backward of one sample; 0: not measured
  bool fitted = false;  // no points, but a line through some that nobody kept
};

// Of one device at one precision.
struct MeasuredDevice {
  std::string device{};  // canonical name
  cluster::Precision precision = cluster::Precision::kBf16;
  // By kind of layer of the model; of kinds with experts or tables none.
  std::vector<std::vector<MeasuredKind>> kinds{};
  double update = 0;           // optimizer's seconds of one parameter; 0: not measured
  bool includes_rest = false;  // layers and update make up a step: the host adds nothing

  // Of that kind under that split; nullptr where it was not measured.
  const MeasuredKind* find(std::size_t kind, const LayerSplit& split) const;
  // At the least tp; nullptr where it was not measured at all.
  const MeasuredKind* least(std::size_t kind) const;
};

struct MeasuredLayers {
  std::vector<MeasuredDevice> devices{};
  std::vector<std::string> notes{};  // what was repaired, or not used and why

  const MeasuredDevice* of(std::string_view device, cluster::Precision precision) const;
};

struct NamedProfile {
  profile::Profile profile;
  std::string file;
};

// Throws Errors where no device of the cluster has a layer of the model in any of the profiles.
MeasuredLayers match_layers(const std::vector<NamedProfile>& profiles, const model::Model& model,
                            const cluster::Cluster& cluster);

// Puts measured times in the place of the kernel model's.
void use_measured(KindCost& cost, const MeasuredKind& measured, double samples);
// Scales them as the model of what was measured has to be.
void scale_measured(KindCost& cost, const MeasuredKind& measured, const LayerCost& modelled,
                    double samples);

}  // namespace nereus::cost
