// Whether measured numbers of a layer are plausible: a wrong unit or a lost digit leads to bad
// plans that nobody notices.
//
//   too quick  a pass takes less than half of the time that the layer's FLOPs take at the device's
//              peak (causal kernels skip half of attention): the layer is not used
//   absurd     an error. A time must also be over 0.2 s, since launches of small layers can take
//              many times as long as their work
//     a pass of a block        over 2000 times the time at the peak
//     a pass of another layer  over 20 times the slowest block of its model with as many samples.
//                              If the layer has r times the FLOPs or parameters of the largest
//                              block (r > 1), over 20 r times. (The layer's FLOPs by themselves are
//                              no measure, because it also reads memory and waits for links, as
//                              blocks do. Heads and embeddings in Sailor's profiles take at most
//                              2.6 times a block.)
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
