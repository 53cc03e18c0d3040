// Whether a measured layer matches a model's layer by its shape (cost/measured.hpp has the
// tolerances).
//
//   difference(layer, kind, model);           // "hidden 1024, not 768"; empty if they match
#pragma once

#include <string>

#include "model/model.hpp"
#include "profile/profile.hpp"

namespace nereus::cost {

// Why the layer does not match that kind of the model; empty if it does. Their roles must agree.
std::string difference(const profile::MeasuredLayer& layer, const model::LayerKind& kind,
                       const model::Model& model);

}  // namespace nereus::cost
