#include "cost/measured.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cost/layer_cost.hpp"

namespace nereus::cost {

using cluster::Precision;

const MeasuredKind* MeasuredDevice::find(std::size_t kind, const LayerSplit& split) const {
  NEREUS_CHECK(kind < kinds.size(), "measured layers are those of the model that is predicted");
  if (split.cp > 1) return nullptr;  // ep cuts no layer that is in here
  for (const MeasuredKind& own : kinds[kind])
    if (own.tp == split.tp) return &own;
  return nullptr;
}

const MeasuredKind* MeasuredDevice::least(std::size_t kind) const {
  const std::vector<MeasuredKind>& all = kinds[kind];
  const auto least =
      std::min_element(all.begin(), all.end(),
                       [](const MeasuredKind& a, const MeasuredKind& b) { return a.tp < b.tp; });
  return least == all.end() ? nullptr : &*least;
}

const MeasuredDevice* MeasuredLayers::of(std::string_view device, Precision precision) const {
  for (const MeasuredDevice& own : devices)
    if (own.device == device && own.precision == precision) return &own;
  return nullptr;
}

void use_measured(KindCost& out, const MeasuredKind& measured, double samples) {
  LayerCost& cost = out.cost;
  const auto replace = [](double& whole, double& part, double seconds) {
    part = whole > 0 ? part * seconds / whole : 0;
    whole = seconds;
  };
  replace(cost.forward, cost.attention_forward, measured.forward.at(samples));
  if (!measured.backward.empty())
    replace(cost.backward, cost.weight_gradient, measured.backward.at(samples));
  if (measured.collectives) {
    out.tensor_forward = out.tensor_backward = 0;
    out.collectives_forward = out.collectives_backward = 0;
  }
  if (measured.memory > 0 && cost.saved > 0)
    replace(cost.saved, cost.saved_scores, measured.memory * samples);
  out.whole = measured.launches;
}

void scale_measured(KindCost& out, const MeasuredKind& measured, const LayerCost& modelled,
                    double samples) {
  const auto scale = [&](double& whole, double& part, const profile::TimeCurve& curve,
                         double model) {
    if (curve.empty() || model <= 0) return;
    const double ratio = curve.at(samples) / model;
    whole *= ratio;
    part *= ratio;
  };
  scale(out.cost.forward, out.cost.attention_forward, measured.forward, modelled.forward);
  scale(out.cost.backward, out.cost.weight_gradient, measured.backward, modelled.backward);
  if (measured.memory > 0 && modelled.saved > 0) {
    const double ratio = measured.memory * samples / modelled.saved;
    out.cost.saved *= ratio;
    out.cost.saved_scores *= ratio;
  }
}

}  // namespace nereus::cost
