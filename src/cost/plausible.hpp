// Whether measured numbers of a layer can be what they say: a unit mixed up or a digit lost makes
// plans that nobody notices.
//
//   too quick  a pass takes less than half of what the device's peak needs for the FLOPs of the
//              model's layer (causal kernels skip half of attention): the layer is not used
//   absurd     an error; times also have to be over 0.2 s, since launches of small layers take any
//              multiple of their work
//     a pass of a block        over 2000 times what the peak needs
//     a pass of another layer  over 20 times the slowest block of its model at as many samples,
//                              times what the layer has more of FLOPs or parameters than a block.
//                              (Its own FLOPs say nothing: it reads memory and waits for links, but
//                              so do blocks. Heads and embeddings of Sailor's profiles take at
//                              most 2.6 times a block.)
//     an update                over 2000 times what reading and writing its numbers takes
//     memory of a sample       more than the device has
//
//   if (const Doubt doubt = doubt_of(layer, kind, device, precision, model, profile); doubt)
//     doubt.absurd ? errors.add("profile.absurd", doubt.why, ...) : notes.push_back(doubt.why);
#pragma once

#include <string>

#include "cluster/device.hpp"
#include "model/model.hpp"
#include "profile/profile.hpp"

namespace nereus::cost {

struct Doubt {
  bool absurd = false;
  std::string why{};
  std::string hint{};
  explicit operator bool() const { return !why.empty(); }
};

// `layer` is one of `profile`, and stands for layers of that `kind` of `model`.
Doubt doubt_of(const profile::MeasuredLayer& layer, const model::LayerKind& kind,
               const cluster::Device& device, cluster::Precision precision,
               const model::Model& model, const profile::Profile& profile);

}  // namespace nereus::cost
