#include "cost/same_layer.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/format.hpp"

namespace nereus::cost {

using profile::MeasuredLayer;
using profile::Role;

namespace {

constexpr double kBlockNear = 0.01;
constexpr double kPadded = 0.05;

bool near(double a, double b, double share) { return std::abs(a - b) <= share * b; }

// Between the layers of a sample.
double elements_of(const model::Model& model) {
  for (const model::LayerKind& kind : model.kinds)
    if (kind.role == model::LayerRole::kBlock) return kind.output_elements;
  return 0;
}

// Layers that nereus measure names as the model does.
std::string differs_in_own(const MeasuredLayer& layer, const model::LayerKind& kind,
                           const model::Model& model) {
  if (model.transformer && layer.seq > 0 && layer.seq != model.transformer->seq)
    return fmt::format("{} per sample, not {}", counted(layer.seq, "token"),
                       model.transformer->seq);
  if (model.transformer && layer.hidden > 0 && layer.hidden != model.transformer->hidden)
    return fmt::format("hidden {}, not {}", layer.hidden, model.transformer->hidden);
  if (layer.elements > 0 && !near(layer.elements, kind.input_elements, 1e-6))
    return fmt::format("{} elements per sample, not {}", format_count(std::llround(layer.elements)),
                       format_count(std::llround(kind.input_elements)));
  if (near(layer.parameters, kind.parameters(), kBlockNear)) return {};
  return fmt::format("{} parameters, not {}", format_count(std::llround(layer.parameters)),
                     format_count(std::llround(kind.parameters())));
}

// Layers of a vision model are identified by what they read: models differ in norms and biases, and
// pools have no parameters.
std::string differs_in_vision(const MeasuredLayer& layer, const model::LayerKind& kind) {
  if (layer.elements != kind.input_elements)
    return fmt::format("{} elements per sample, not {}", format_count(std::llround(layer.elements)),
                       format_count(std::llround(kind.input_elements)));
  if (layer.parameters > 0 && near(layer.parameters, kind.parameters(), kPadded)) return {};
  const bool average = layer.layer == "avgPool2d";
  if (layer.parameters == 0 && kind.parameters() == 0 &&
      kind.name.rfind(average ? "average_pool" : "max_pool", 0) == 0 &&
      (average || layer.layer == "maxPool2d"))
    return {};
  return fmt::format("{} parameters, not {}", format_count(std::llround(layer.parameters)),
                     format_count(std::llround(kind.parameters())));
}

}  // namespace

std::string difference(const MeasuredLayer& layer, const model::LayerKind& kind,
                       const model::Model& model) {
  const double tokens = model.tokens_per_sample;
  if (!layer.layer.empty() && layer.layer == kind.name) return differs_in_own(layer, kind, model);
  if (!layer.layer.empty()) return differs_in_vision(layer, kind);
  if (layer.seq > 0 && tokens > 0 && layer.seq != tokens)
    return fmt::format("{} per sample, not {}", counted(layer.seq, "token"),
                       format_count(std::llround(tokens)));
  if (layer.hidden > 0 && model.transformer && layer.hidden != model.transformer->hidden)
    return fmt::format("hidden {}, not {}", layer.hidden, model.transformer->hidden);
  if (layer.elements > 0 && !near(layer.elements, elements_of(model), 1e-6))
    return fmt::format("{} elements per sample between layers, not {}",
                       format_count(std::llround(layer.elements)),
                       format_count(std::llround(elements_of(model))));
  if (layer.parameters <= 0) return {};
  double wanted = kind.parameters();
  if (layer.role == Role::kHead && tokens > 0) wanted = kind.forward_flops() / (2 * tokens);
  const bool norms = layer.role == Role::kHead && layer.parameters < 0.01 * wanted;
  if (norms || near(layer.parameters, wanted, layer.role == Role::kBlock ? kBlockNear : kPadded))
    return {};
  return fmt::format("{} parameters, not {}", format_count(std::llround(layer.parameters)),
                     format_count(std::llround(wanted)));
}

}  // namespace nereus::cost
