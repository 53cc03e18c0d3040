// The data that predictions are based on: the description of the software stack, and measurements.
// A stack applies to all machines that run its software. Measurements belong to the measured
// machines and model, and apply to any software, so replacing the stack keeps them.
//
//   Basis basis(load_stack("megatron"));                   // no measurements
//   basis.layers = ...; basis.networks = ...;              // --profile: app/predict/profiles.hpp
//   Basis other = basis.with_stack(load_stack("nemo"));    // other software, the same machines
//   Predictor(model, cluster, basis.in_precision(Precision::kFp8), 64).predict(degrees);
//
// Use with_stack for other software (`--engine`, what-ifs) and in_precision for other number
// formats. A stack does not convert to a basis implicitly: otherwise a call that passes
// `basis.stack` instead of `basis` would compile and lose the measurements.
// A pointer is null if nothing of its kind was measured.
#pragma once

#include <memory>
#include <utility>

#include "cluster/device.hpp"
#include "stack/stack.hpp"

namespace nereus::cost {

struct MeasuredLayers;
struct MeasuredNetworks;

struct Basis {
  Stack stack{};
  std::shared_ptr<const MeasuredLayers> layers{};      // of the model's layers: cost/measured.hpp
  std::shared_ptr<const MeasuredNetworks> networks{};  // per device: cost/measured_network.hpp

  Basis() = default;
  explicit Basis(Stack software) : stack(std::move(software)) {}

  // Returns the basis with other software and the same measurements.
  Basis with_stack(Stack other) const {
    Basis out = *this;
    out.stack = std::move(other);
    return out;
  }
  // Returns the basis with the stack's bytes per element set for this precision, and for the
  // formats that a plan sets (options_for).
  Basis in_precision(cluster::Precision precision, const plan::StateTypes& types = {}) const {
    Basis out = *this;
    out.stack.options = options_for(out.stack.options, precision, types);
    return out;
  }
};

}  // namespace nereus::cost
