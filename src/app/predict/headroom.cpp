#include "app/predict/headroom.hpp"

namespace nereus::app {

double headroom_for(const Inputs& inputs, double probability) {
  const std::shared_ptr<const cost::ErrorTable>& errors = inputs.basis.stack.errors;
  const std::optional<cost::Conditions> conditions =
      conditions_of({inputs.model, inputs.cluster, inputs.basis, plan::Degrees{}, {}, {}}, 1);
  if (!errors || !conditions) return 0;
  return errors->headroom_for(*conditions, probability).value_or(0);
}

}  // namespace nereus::app
