#include "search/explore/footprint.hpp"

namespace nereus::explore {

Footprint footprint(const DenseShape& s, double mp, double dp) {
  Footprint f;
  const double of_layer = 12 * s.hidden * s.hidden / mp;
  f.parameters = s.layers * of_layer;
  f.zero = {16 * f.parameters, (4 + 12 / dp) * f.parameters, (2 + 14 / dp) * f.parameters,
            16 / dp * f.parameters};
  const double tensor = s.seq * s.hidden;
  f.activations = tensor * s.layers * (10 + 24 / mp + 5 * s.heads * s.seq / (s.hidden * mp));
  f.layer_inputs = 2 * tensor * s.layers;
  f.tensor_all_reduce = 2 * tensor;
  f.num_tensor_all_reduces = 4 * s.layers;
  f.data_all_reduce = 2 * of_layer;
  return f;
}

}  // namespace nereus::explore
