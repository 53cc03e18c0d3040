// The state that a GeneralPredictor keeps between placements.
#pragma once

#include "predict/general/context.hpp"
#include "predict/general/general_predictor.hpp"

namespace nereus::cost {

struct GeneralPredictor::Tables {
  Tables(const model::Model& m, const cluster::Cluster& cluster, const Basis& basis)
      : model(m),
        measured(basis.layers),
        options(basis.stack.options),
        wires(cluster, basis),
        costs(m, wires, options, measured.get()) {}

  const model::Model& model;
  std::shared_ptr<const MeasuredLayers> measured;
  StackOptions options;
  Wires wires;
  general::LayerCosts costs;
  schedule::Clock clock;

  general::Context context_of(const plan::Placement& placement) {
    general::Context context{placement,
                             model,
                             options,
                             wires,
                             costs,
                             clock,
                             general::read_layout(placement, wires),
                             general::read_state(placement, wires)};
    context.sharing = general::sharing_of(context.states);
    return context;
  }
};

}  // namespace nereus::cost
