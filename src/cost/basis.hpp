// What predictions rest on: the description of the software and, beside it, what was measured. A
// stack says what holds wherever that software runs. Measurements are of these machines and this
// model, and hold whatever software is looked at: who replaces the stack keeps them.
//
//   Basis basis(load_stack("megatron"));                   // nothing was measured
//   basis.layers = ...; basis.networks = ...;              // --profile: app/predict/profiles.hpp
//   Basis other = basis.with_stack(load_stack("nemo"));    // other software, the same machines
//   Predictor(model, cluster, basis.in_precision(Precision::kFp8), 64).predict(degrees);
//
// Other software (`--engine`, what-ifs) and other widths come from with_stack and in_precision. A
// stack does not turn into a basis by itself: a call that passed `basis.stack` on instead of
// `basis` would forget what was measured, and does not compile.
// A pointer is null where nothing of the kind was measured.
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
  std::shared_ptr<const MeasuredLayers> layers{};      // of the model: cost/measured.hpp
  std::shared_ptr<const MeasuredNetworks> networks{};  // by device: cost/measured_network.hpp

  Basis() = default;
  explicit Basis(Stack software) : stack(std::move(software)) {}

  // Other software on the machines that were measured.
  Basis with_stack(Stack other) const {
    Basis out = *this;
    out.stack = std::move(other);
    return out;
  }
  // The widths of the software that hold for a precision (options_for).
  Basis in_precision(cluster::Precision precision) const {
    Basis out = *this;
    out.stack.options = options_for(out.stack.options, precision);
    return out;
  }
};

}  // namespace nereus::cost
