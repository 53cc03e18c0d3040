// Measured layers (profile/profile.hpp) of a model, by device, precision and tp.
//
// A measured layer matches a layer of the model if role, size of a sample (seq, or seq x hidden)
// and hidden agree and, depending on the role, these also agree:
//   block      its parameters within 1 %
//   embedding  its parameters within 5 % (vocabularies are padded); used only if a block of the
//              same measured model matches
//   named      (from nereus measure; `layer` is the name in the model) what it reads, and its
//              parameters within 1 %
//   vision     what it reads, and its parameters within 5 % (norms and biases); for pools, their
//              kind
//   head       its parameters within 5 % of vocabulary x hidden; or it has only norms, if the head
//              shares the embedding's weights
// A time is rejected if it is below half of the least time that the device's peak allows, or if it
// is over a fifth of a second and more than 2000 times that least time. A measurement with
// precision fp32 is used for fp32 and tf32, because the precision is that of the activations.
//
// Measured forward and backward times replace those of the kernel model (cost/layer_cost.hpp);
// attention and weight gradients keep their modeled shares of the time. Times are interpolated
// linearly between points and extrapolated beyond them (profile/profile.hpp). If a layer was only
// measured at other tp, or runs under cp, its time is the kernel model's time, multiplied by the
// ratio measured / modeled at the smallest measured tp. Otherwise plans would look good only
// because they were not measured. Tensor collectives and launches cost nothing extra if the
// measurement includes them. Layers with experts and embedding tables always use the kernel model.
//
// Measured memory that blocks keep for backward is proportional to the samples; the part that
// selective recompute drops keeps its modeled share. Recomputed blocks use the modeled memory.
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
  bool collectives = false;       // whether the times include collectives
  bool launches = false;
  double memory = 0;    // bytes kept for backward per sample; 0: not measured
  bool fitted = false;  // a fitted line instead of points, because the points were not kept
};

// Measurements of one device at one precision.
struct MeasuredDevice {
  std::string device{};  // canonical name
  cluster::Precision precision = cluster::Precision::kBf16;
  // By kind of layer of the model; empty for kinds with experts or tables.
  std::vector<std::vector<MeasuredKind>> kinds{};
  double update = 0;           // seconds of the optimizer per parameter; 0: not measured
  bool includes_rest = false;  // layers and update make up the whole step: the host adds nothing

  // The measurement of this kind under this split; nullptr if there is none.
  const MeasuredKind* find(std::size_t kind, const LayerSplit& split) const;
  // The measurement at the smallest tp; nullptr if there is none at all.
  const MeasuredKind* least(std::size_t kind) const;
};

struct MeasuredLayers {
  std::vector<MeasuredDevice> devices{};
  std::vector<std::string> notes{};  // what was repaired, what was not used, and why

  const MeasuredDevice* of(std::string_view device, cluster::Precision precision) const;
};

struct NamedProfile {
  profile::Profile profile;
  std::string file;
};

// Throws Errors if no profile has a layer of the model on a device of the cluster.
MeasuredLayers match_layers(const std::vector<NamedProfile>& profiles, const model::Model& model,
                            const cluster::Cluster& cluster);

// Replaces the kernel model's times with the measured ones.
void use_measured(KindCost& cost, const MeasuredKind& measured, double samples);
// Scales the modeled times by measured / modeled, where `modelled` is the model's cost of what was
// measured.
void scale_measured(KindCost& cost, const MeasuredKind& measured, const LayerCost& modelled,
                    double samples);

}  // namespace nereus::cost
