// Whether a measured layer is one of a model's, by its shape (cost/measured.hpp says how near).
//
//   difference(layer, kind, model);           // "hidden 1024, not 768"; empty where it is the same
#pragma once

#include <string>

#include "model/model.hpp"
#include "profile/profile.hpp"

namespace nereus::cost {

// Why the layer is not that kind of the model's; empty where it is. Roles agree.
std::string difference(const profile::MeasuredLayer& layer, const model::LayerKind& kind,
                       const model::Model& model);

}  // namespace nereus::cost
