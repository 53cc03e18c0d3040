// Which of a model's layers were measured (cost/measured.hpp).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/format.hpp"
#include "cluster/catalogue.hpp"
#include "cost/layers.hpp"
#include "cost/measured.hpp"

namespace nereus::cost {

using cluster::Device;
using cluster::Precision;
using profile::MeasuredLayer;
using profile::Role;

namespace {

constexpr double kBlockNear = 0.01;
constexpr double kPadded = 0.05;
constexpr double kFasterThanPeak = 0.5;  // causal kernels skip half of attention
constexpr double kSlowerThanPeak = 2000;
constexpr double kSlow = 0.2;  // seconds

bool near(double a, double b, double share) { return std::abs(a - b) <= share * b; }

Role role_of(model::LayerRole role) {
  switch (role) {
    case model::LayerRole::kEmbedding:
      return Role::kEmbedding;
    case model::LayerRole::kBlock:
      return Role::kBlock;
    case model::LayerRole::kHead:
      return Role::kHead;
    case model::LayerRole::kOther:
      break;
  }
  return Role::kOther;
}

class Matcher {
 public:
  Matcher(const model::Model& model, const cluster::Cluster& cluster)
      : model_(model), cluster_(cluster) {}

  MeasuredLayers match(const std::vector<NamedProfile>& profiles) {
    for (const NamedProfile& own : profiles) {
      used_ = 0;
      models_.clear();
      for (const MeasuredLayer& layer : own.profile.layers)
        if (layer.role == Role::kBlock) add(layer, own.file);
      for (const MeasuredLayer& layer : own.profile.layers)
        if (layer.role != Role::kBlock && models_.count(layer.model) > 0) add(layer, own.file);
      if (used_ == 0) no_layer(own);
    }
    errors_.throw_if_any();
    for (MeasuredDevice& device : out_.devices) set_update(device);
    return std::move(out_);
  }

 private:
  // Why the layer is not that kind of the model's; empty where it is.
  std::string differs(const MeasuredLayer& layer, const model::LayerKind& kind) const {
    const double tokens = model_.tokens_per_sample;
    if (!layer.layer.empty() && layer.layer == kind.name) return differs_in_own(layer, kind);
    if (!layer.layer.empty()) return differs_in_vision(layer, kind);
    if (layer.seq > 0 && tokens > 0 && layer.seq != tokens)
      return fmt::format("{} tokens a sample, not {}", layer.seq,
                         format_count(std::llround(tokens)));
    if (layer.hidden > 0 && model_.transformer && layer.hidden != model_.transformer->hidden)
      return fmt::format("hidden {}, not {}", layer.hidden, model_.transformer->hidden);
    if (layer.elements > 0 && !near(layer.elements, elements(), 1e-6))
      return fmt::format("{} elements a sample between layers, not {}",
                         format_count(std::llround(layer.elements)),
                         format_count(std::llround(elements())));
    if (layer.parameters <= 0) return {};
    double wanted = kind.parameters();
    if (layer.role == Role::kHead && tokens > 0) wanted = kind.forward_flops() / (2 * tokens);
    const bool norms = layer.role == Role::kHead && layer.parameters < 0.01 * wanted;
    if (norms || near(layer.parameters, wanted, layer.role == Role::kBlock ? kBlockNear : kPadded))
      return {};
    return fmt::format("{} parameters, not {}", format_count(std::llround(layer.parameters)),
                       format_count(std::llround(wanted)));
  }
  // Layers that nereus measure names as the model does.
  std::string differs_in_own(const MeasuredLayer& layer, const model::LayerKind& kind) const {
    if (model_.transformer && layer.seq > 0 && layer.seq != model_.transformer->seq)
      return fmt::format("{} tokens a sample, not {}", layer.seq, model_.transformer->seq);
    if (model_.transformer && layer.hidden > 0 && layer.hidden != model_.transformer->hidden)
      return fmt::format("hidden {}, not {}", layer.hidden, model_.transformer->hidden);
    if (layer.elements > 0 && !near(layer.elements, kind.input_elements, 1e-6))
      return fmt::format("{} elements a sample, not {}", format_count(std::llround(layer.elements)),
                         format_count(std::llround(kind.input_elements)));
    if (near(layer.parameters, kind.parameters(), kBlockNear)) return {};
    return fmt::format("{} parameters, not {}", format_count(std::llround(layer.parameters)),
                       format_count(std::llround(kind.parameters())));
  }
  // Layers of a vision model are told apart by what they read; norms and biases are a matter of
  // taste, and pools have no parameters.
  static std::string differs_in_vision(const MeasuredLayer& layer, const model::LayerKind& kind) {
    if (layer.elements != kind.input_elements)
      return fmt::format("{} elements a sample, not {}", format_count(std::llround(layer.elements)),
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
  double elements() const {
    for (const model::LayerKind& kind : model_.kinds)
      if (kind.role == model::LayerRole::kBlock) return kind.output_elements;
    return 0;
  }

  // The device of the cluster that a profile names; nullptr where the cluster has none such.
  const Device* device_of(const std::string& name) const {
    const Device* known = cluster::builtin_catalogue().find_device(name);
    for (const cluster::NodeGroup& group : cluster_.groups) {
      const Device& own = group.node.device;
      if (own.short_name == name || own.name == name ||
          (known && known->short_name == own.short_name))
        return &own;
    }
    return nullptr;
  }

  void add(const MeasuredLayer& layer, const std::string& file) {
    const Device* device = device_of(layer.device);
    if (!device) return;
    const std::optional<Precision> precision =
        cluster::builtin_catalogue().find_precision(layer.precision);
    if (!precision) {
      errors_.add("profile.precision",
                  fmt::format("'{}' of {} on {} is no precision", layer.precision, layer.model,
                              layer.device),
                  {file}, "fp32, tf32, fp16, bf16, fp8");
      return;
    }
    for (std::size_t k = 0; k < model_.kinds.size(); ++k) {
      const model::LayerKind& kind = model_.kinds[k];
      if (role_of(kind.role) != layer.role || kind.table_parameters() > 0 ||
          kind.expert_parameters() > 0)
        continue;
      if (const std::string why = differs(layer, kind); !why.empty()) {
        if (layer.role == Role::kBlock) other_models_.insert(layer.model + ": a block of " + why);
        continue;
      }
      if (!possible(layer, kind, *device, *precision, file)) continue;
      put(layer, k, *device, *precision);
      if (*precision == Precision::kFp32) put(layer, k, *device, Precision::kTf32);
      models_.insert(layer.model);
      ++used_;
    }
  }

  bool possible(const MeasuredLayer& layer, const model::LayerKind& kind, const Device& device,
                Precision precision, const std::string& file) {
    double peak = device.peak_of(precision).value;
    if (precision == Precision::kFp32)
      peak = std::max(peak, device.peak_of(Precision::kTf32).value);
    if (peak <= 0) return true;
    for (std::size_t at = 0; at < layer.forward.size() + layer.backward.size(); ++at) {
      const bool back = at >= layer.forward.size();
      const std::size_t i = back ? at - layer.forward.size() : at;
      // Gradients of inputs and of weights are each as much work as the forward pass.
      const double flops = kind.forward_flops() * (back ? 2 : 1);
      const double least = flops * layer.samples[i] / layer.tp / peak;
      const double seconds = back ? layer.backward[i] : layer.forward[i];
      const auto name = [&] {
        return fmt::format("{} of {} on {}, tp {}, {:g} samples: {} {}", to_string(layer.role),
                           layer.model, layer.device, layer.tp, layer.samples[i],
                           format_seconds(Seconds{seconds}), back ? "backward" : "forward");
      };
      if (seconds < kFasterThanPeak * least) {
        out_.notes.push_back(
            fmt::format("not used: {}; the device's peak needs {} for the model's layer", name(),
                        format_seconds(Seconds{least})));
        return false;
      }
      // Others read memory and, cut, wait for their links.
      if (layer.role == Role::kBlock && seconds > kSlow && seconds > kSlowerThanPeak * least &&
          least > 0) {
        errors_.add(
            "profile.absurd",
            fmt::format("{}; the device's peak needs {}", name(), format_seconds(Seconds{least})),
            {file}, "times are seconds; are these milliseconds?");
        return false;
      }
      if (precision == Precision::kFp32 && device.has(Precision::kFp32) &&
          seconds * device.peak_of(Precision::kFp32).value < flops * layer.samples[i] / layer.tp)
        note(fmt::format(
            "{} in fp32 on {} is quicker than fp32's peak: its products ran in tf32; MFU counts "
            "the plan's precision",
            layer.model, layer.device));
    }
    return true;
  }

  void put(const MeasuredLayer& layer, std::size_t kind, const Device& device,
           Precision precision) {
    MeasuredDevice* own = nullptr;
    for (MeasuredDevice& known : out_.devices)
      if (known.device == device.short_name && known.precision == precision) own = &known;
    if (!own) {
      out_.devices.push_back({device.short_name, precision, {}, 0});
      own = &out_.devices.back();
      own->kinds.resize(model_.kinds.size());
    }
    const auto repaired = [&](const std::vector<double>& seconds) {
      const profile::RepairedCurve curve = profile::curve_of(layer.samples, seconds);
      if (curve.moved > 0)
        note(fmt::format(
            "{} of {} on {}, tp {}: more samples take less at {} of {} points; smoothed, by {:.0f} "
            "% at most",
            to_string(layer.role), layer.model, layer.device, layer.tp, curve.moved, seconds.size(),
            100 * (curve.most - 1)));
      return curve.curve;
    };
    for (const MeasuredKind& known : own->kinds[kind])
      if (known.tp == layer.tp) {
        note(fmt::format("not used: {} of {} on {}, tp {}: measured twice, the first counts",
                         to_string(layer.role), layer.model, layer.device, layer.tp));
        return;
      }
    MeasuredKind measured;
    measured.tp = layer.tp;
    measured.forward = repaired(layer.forward);
    measured.collectives = layer.includes_collectives;
    measured.launches = layer.includes_launches;
    measured.memory = layer.role == Role::kBlock ? layer.memory : 0;
    measured.fitted = layer.fitted;
    if (!layer.backward.empty()) measured.backward = repaired(layer.backward);
    own->kinds[kind].push_back(std::move(measured));
    own->includes_rest = own->includes_rest || layer.includes_rest;
    if (layer.update > 0) updates_.push_back({device.short_name, precision, kind, layer});
  }

  // Layers are updated one after the other, whatever their size: the whole model's update over its
  // parameters, at the least tp that was measured.
  void set_update(MeasuredDevice& device) const {
    int tp = 0;
    for (const Update& own : updates_)
      if (own.device == device.device && own.precision == device.precision)
        tp = tp == 0 ? own.layer.tp : std::min(tp, own.layer.tp);
    double seconds = 0, parameters = 0;
    for (const Update& own : updates_) {
      if (own.device != device.device || own.precision != device.precision || own.layer.tp != tp)
        continue;
      const double count = static_cast<double>(
          std::count(model_.layers.begin(), model_.layers.end(), static_cast<int>(own.kind)));
      seconds += count * own.layer.update;
      const double whole =
          own.layer.parameters > 0 ? own.layer.parameters : model_.kinds[own.kind].parameters();
      parameters += count * whole / tp;
    }
    if (parameters > 0) device.update = seconds / parameters;
  }

  void no_layer(const NamedProfile& own) {
    std::set<std::string> devices, models;
    bool has_device = false;
    for (const MeasuredLayer& layer : own.profile.layers) {
      devices.insert(layer.device);
      models.insert(layer.model);
      has_device |= device_of(layer.device) != nullptr;
    }
    if (!has_device) {
      std::set<std::string> wanted;
      for (const cluster::NodeGroup& group : cluster_.groups)
        wanted.insert(group.node.device.short_name);
      errors_.add("profile.no-device",
                  fmt::format("the profile was measured on {}, and {} has {}",
                              fmt::join(devices, ", "), cluster_.name, fmt::join(wanted, ", ")),
                  {own.file}, "a profile of one of the cluster's devices, or none");
      return;
    }
    errors_.add("profile.no-model",
                fmt::format("no layer of {} is one of {}{}{}", fmt::join(models, ", "), model_.name,
                            other_models_.empty() ? "" : ": ", fmt::join(other_models_, "; ")),
                {own.file}, "--seq, --model or --set model.KEY=VALUE for what was measured");
  }

  void note(std::string text) {
    if (std::find(out_.notes.begin(), out_.notes.end(), text) == out_.notes.end())
      out_.notes.push_back(std::move(text));
  }

  struct Update {
    std::string device;
    Precision precision;
    std::size_t kind;
    MeasuredLayer layer;
  };
  const model::Model& model_;
  const cluster::Cluster& cluster_;
  MeasuredLayers out_;
  std::vector<Update> updates_;
  std::set<std::string> other_models_;
  std::set<std::string> models_;  // of the profile in hand, whose blocks are the model's
  int used_ = 0;
  ErrorList errors_;
};

}  // namespace

MeasuredLayers match_layers(const std::vector<NamedProfile>& profiles, const model::Model& model,
                            const cluster::Cluster& cluster) {
  return Matcher(model, cluster).match(profiles);
}

}  // namespace nereus::cost
