#include "cost/plausible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/format.hpp"

namespace nereus::cost {

using cluster::Device;
using cluster::Precision;
using profile::MeasuredLayer;
using profile::Role;

namespace {

constexpr double kFasterThanPeak = 0.5;
constexpr double kSlowerThanPeak = 2000;
constexpr double kSlowerThanBlock = 20;
constexpr double kSlow = 0.2;  // seconds
// Adam reads gradient, weight and two moments, and writes the last three, four bytes each.
constexpr double kUpdateBytes = 28;
constexpr const char* kUnits = "times are seconds; are these milliseconds?";

std::string name_of(const MeasuredLayer& layer) {
  return fmt::format("{} of {} on {}, tp {}", to_string(layer.role), layer.model, layer.device,
                     layer.tp);
}

std::string text_of(double seconds) { return format_seconds(Seconds{seconds}); }

double peak_of(const Device& device, Precision precision) {
  double peak = device.peak_of(precision).value;
  if (precision == Precision::kFp32) peak = std::max(peak, device.peak_of(Precision::kTf32).value);
  return peak;
}

struct Block {
  int tp = 0;
  double seconds = 0;  // 0: the pass was not measured
};

// The slowest of its model's, cut as the layer is or as little as one was.
Block slowest_block(const MeasuredLayer& layer, bool back, double samples,
                    const profile::Profile& profile) {
  std::vector<const MeasuredLayer*> blocks;
  int tp = 0;
  for (const MeasuredLayer& other : profile.layers) {
    if (other.role != Role::kBlock || other.model != layer.model || other.device != layer.device ||
        other.precision != layer.precision)
      continue;
    blocks.push_back(&other);
    if (other.tp == layer.tp || (tp != layer.tp && (tp == 0 || other.tp < tp))) tp = other.tp;
  }
  Block out{tp, 0};
  for (const MeasuredLayer* other : blocks) {
    const std::vector<double>& times = back ? other->backward : other->forward;
    if (other->tp == tp && !times.empty())
      out.seconds =
          std::max(out.seconds, profile::curve_of(other->samples, times).curve.at(samples));
  }
  return out;
}

// The ratio of the layer to the model's largest block, which is usually the slowest.
double more_than_block(const model::LayerKind& kind, const model::Model& model) {
  double flops = 0, parameters = 0;
  for (const model::LayerKind& other : model.kinds) {
    if (other.role != model::LayerRole::kBlock) continue;
    flops = std::max(flops, other.forward_flops());
    parameters = std::max(parameters, other.parameters());
  }
  double more = 1;
  if (flops > 0) more = std::max(more, kind.forward_flops() / flops);
  if (parameters > 0) more = std::max(more, kind.parameters() / parameters);
  return more;
}

// One pass of so many samples.
struct PassTime {
  bool back = false;
  double samples = 0;
  double seconds = 0;
};

Doubt doubt_of_pass(const PassTime& pass, const MeasuredLayer& layer, const model::LayerKind& kind,
                    double peak, const model::Model& model, const profile::Profile& profile) {
  const auto took = [&] {
    return fmt::format("{}, {}: {} {}", name_of(layer),
                       counted(fmt::format("{:g}", pass.samples), "sample"), text_of(pass.seconds),
                       pass.back ? "backward" : "forward");
  };
  // Gradients of inputs and of weights are each as much work as the forward pass.
  const double flops = kind.forward_flops() * (pass.back ? 2 : 1);
  const double least = peak > 0 ? flops * pass.samples / layer.tp / peak : 0;
  if (pass.seconds < kFasterThanPeak * least)
    return {
        false,
        fmt::format("{}; the device's peak needs {} for the model's layer", took(), text_of(least)),
        {}};
  if (pass.seconds <= kSlow) return {};
  if (layer.role == Role::kBlock) {
    if (least <= 0 || pass.seconds <= kSlowerThanPeak * least) return {};
    return {true, fmt::format("{}; the device's peak needs {}", took(), text_of(least)), kUnits};
  }
  const Block block = slowest_block(layer, pass.back, pass.samples, profile);
  const double more = more_than_block(kind, model);
  if (block.seconds <= 0 || pass.seconds <= kSlowerThanBlock * more * block.seconds) return {};
  return {true,
          fmt::format("{}; a block of it takes {}{}, and the layer is {:.3g} times a block", took(),
                      text_of(block.seconds),
                      block.tp == layer.tp ? "" : fmt::format(" at tp {}", block.tp), more),
          kUnits};
}

Doubt doubt_of_update(const MeasuredLayer& layer, const model::LayerKind& kind,
                      const Device& device) {
  const double rate = device.memory_bandwidth.value;
  const double parameters = layer.parameters > 0 ? layer.parameters : kind.parameters();
  const double least = rate > 0 ? kUpdateBytes * parameters / layer.tp / rate : 0;
  if (least <= 0 || layer.update <= kSlow || layer.update <= kSlowerThanPeak * least) return {};
  return {true,
          fmt::format("{}: an update of {}; the device's memory needs {}", name_of(layer),
                      text_of(layer.update), text_of(least)),
          kUnits};
}

}  // namespace

Doubt doubt_of(const MeasuredLayer& layer, const model::LayerKind& kind, const Device& device,
               Precision precision, const model::Model& model, const profile::Profile& profile) {
  const double peak = peak_of(device, precision);
  for (const bool back : {false, true}) {
    const std::vector<double>& times = back ? layer.backward : layer.forward;
    for (std::size_t i = 0; i < times.size(); ++i)
      if (Doubt doubt =
              doubt_of_pass({back, layer.samples[i], times[i]}, layer, kind, peak, model, profile))
        return doubt;
  }
  if (Doubt doubt = doubt_of_update(layer, kind, device)) return doubt;
  if (device.memory.value > 0 && layer.memory > device.memory.value)
    return {true,
            fmt::format("{}: a sample keeps {}, but the device has {}", name_of(layer),
                        format_bytes(Bytes{layer.memory}), format_bytes(device.memory)),
            "memory_bytes must be the bytes of one sample on one rank"};
  return {};
}

}  // namespace nereus::cost
