// Whether measured numbers of a layer are plausible: a wrong unit or a lost digit leads to bad
// plans that nobody notices.
//
//   too quick  a pass takes less than half of what the device's peak needs for the layer's FLOPs
//              (causal kernels skip half of attention): the layer is not used
//   absurd     an error. Times must also be over 0.2 s, since launches of small layers can take
//              many times as long as their work
//     a pass of a block        over 2000 times what the peak needs
//     a pass of another layer  over 20 times the slowest block of its model with as many samples,
//                              times the ratio of the layer's FLOPs or parameters to those of a
//                              block, if it is larger. (The layer's FLOPs alone are no measure: it
//                              reads memory and waits for links, but so do blocks. Heads and
//                              embeddings in Sailor's profiles take at most 2.6 times a block.)
//     an update                over 2000 times the time to read and write its numbers
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

// `layer` is a layer of `profile`, and would be used for layers of that `kind` of `model`.
Doubt doubt_of(const profile::MeasuredLayer& layer, const model::LayerKind& kind,
               const cluster::Device& device, cluster::Precision precision,
               const model::Model& model, const profile::Profile& profile);

}  // namespace nereus::cost
