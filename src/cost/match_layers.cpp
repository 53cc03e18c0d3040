// Finds which of a model's layers were measured (cost/measured.hpp).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "cluster/catalogue.hpp"
#include "cost/layer_cost.hpp"
#include "cost/measured.hpp"
#include "cost/plausible.hpp"
#include "cost/same_layer.hpp"

namespace nereus::cost {

using cluster::Device;
using cluster::Precision;
using profile::MeasuredLayer;
using profile::Role;

namespace {

constexpr std::size_t kMostReasons = 6;  // that one message gives

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
      reasons_.clear();
      const std::size_t wrong = errors_.list().size();
      for (const MeasuredLayer& layer : own.profile.layers)
        if (layer.role == Role::kBlock) add(layer, own);
      for (const MeasuredLayer& layer : own.profile.layers)
        if (layer.role != Role::kBlock && models_.count(layer.model) > 0) add(layer, own);
      if (used_ == 0 && errors_.list().size() == wrong) no_layer(own);
    }
    errors_.throw_if_any();
    for (MeasuredDevice& device : out_.devices) set_update(device);
    return std::move(out_);
  }

 private:
  // The device of the cluster that a profile names; nullptr if there is none.
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

  void add(const MeasuredLayer& layer, const NamedProfile& own) {
    const Device* device = device_of(layer.device);
    if (!device) return;
    const std::optional<Precision> precision =
        cluster::builtin_catalogue().find_precision(layer.precision);
    if (!precision) {
      errors_.add("profile.precision",
                  fmt::format("'{}' of {} on {} is not a precision", layer.precision, layer.model,
                              layer.device),
                  {own.file}, "fp32, tf32, fp16, bf16, fp8");
      return;
    }
    bool any = false;
    for (std::size_t k = 0; k < model_.kinds.size(); ++k) {
      const model::LayerKind& kind = model_.kinds[k];
      if (role_of(kind.role) != layer.role || is_modelled(kind)) continue;
      any = true;
      if (const std::string why = difference(layer, kind, model_); !why.empty()) {
        if (layer.role == Role::kBlock) reasons_.insert(layer.model + ": a block of " + why);
        continue;
      }
      if (!possible(layer, kind, *device, *precision, own)) continue;
      put(layer, k, *device, *precision);
      if (*precision == Precision::kFp32) put(layer, k, *device, Precision::kTf32);
      models_.insert(layer.model);
      ++used_;
    }
    if (!any && layer.role == Role::kBlock)
      reasons_.insert(fmt::format("{}: a block, and {}", layer.model, why_no_block()));
  }

  // Whatever was measured.
  static bool is_modelled(const model::LayerKind& kind) {
    return kind.table_parameters() > 0 || kind.expert_parameters() > 0;
  }
  std::string why_no_block() const {
    std::set<std::string> roles;
    for (const model::LayerKind& kind : model_.kinds) {
      if (kind.role == model::LayerRole::kBlock)
        return fmt::format("the layers of {} have experts or tables, which are modelled",
                           model_.name);
      roles.emplace(profile::to_string(role_of(kind.role)));
    }
    return fmt::format("{} has none, but {}", model_.name, fmt::join(roles, ", "));
  }

  bool possible(const MeasuredLayer& layer, const model::LayerKind& kind, const Device& device,
                Precision precision, const NamedProfile& own) {
    const Doubt doubt = doubt_of(layer, kind, device, precision, model_, own.profile);
    if (doubt.absurd) {
      errors_.add("profile.absurd", doubt.why, {own.file}, doubt.hint);
    } else if (doubt) {
      out_.notes.push_back("not used: " + doubt.why);
      reasons_.insert(doubt.why);
    }
    if (doubt) return false;
    if (precision == Precision::kFp32 && device.has(Precision::kFp32) &&
        beats_peak(layer, kind, device.peak_of(Precision::kFp32).value))
      note(fmt::format(
          "{} in fp32 on {} is faster than the fp32 peak, so its matrix products ran in tf32; MFU "
          "counts the plan's precision",
          layer.model, layer.device));
    return true;
  }

  static bool beats_peak(const MeasuredLayer& layer, const model::LayerKind& kind, double peak) {
    for (std::size_t i = 0; i < layer.samples.size(); ++i) {
      const double flops = kind.forward_flops() * layer.samples[i] / layer.tp;
      if (layer.forward[i] * peak < flops) return true;
      if (!layer.backward.empty() && layer.backward[i] * peak < 2 * flops) return true;
    }
    return false;
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
        note(
            fmt::format("{} of {} on {}, tp {}: at {} of {} points the time falls though there are "
                        "more samples; the times "
                        "were smoothed by at most {:.0f} %",
                        to_string(layer.role), layer.model, layer.device, layer.tp, curve.moved,
                        seconds.size(), 100 * (curve.most - 1)));
      return curve.curve;
    };
    for (const MeasuredKind& known : own->kinds[kind])
      if (known.tp == layer.tp) {
        note(
            fmt::format("not used: {} of {} on {}, tp {} was measured twice, and the first "
                        "measurement is used",
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

  // The optimizer updates layers one after the other, whatever their size. So the update per
  // parameter is that of the whole model divided by its parameters, at the smallest measured tp.
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
                  fmt::format("the profile was measured on {}, but {} has {}",
                              fmt::join(devices, ", "), cluster_.name, fmt::join(wanted, ", ")),
                  {own.file}, "a profile of one of the cluster's devices, or none");
      return;
    }
    if (reasons_.empty()) reasons_.insert(without_blocks(own));
    std::vector<std::string> said(reasons_.begin(), reasons_.end());
    if (said.size() > kMostReasons) {
      const std::string rest = fmt::format("and {} more", said.size() - kMostReasons);
      said.resize(kMostReasons);
      said.push_back(rest);
    }
    errors_.add("profile.no-model",
                fmt::format("no layer of {} is one of {}: {}", fmt::join(models, ", "), model_.name,
                            fmt::join(said, "; ")),
                {own.file},
                "use --seq, --model or --set model.KEY=VALUE to match what was "
                "measured");
  }

  // The layers that the profile has for the cluster's devices, if it has no block for them.
  std::string without_blocks(const NamedProfile& own) const {
    std::set<std::string> rows;
    for (const MeasuredLayer& layer : own.profile.layers)
      if (device_of(layer.device) != nullptr)
        rows.insert(fmt::format("{} on {}", profile::to_string(layer.role), layer.device));
    return fmt::format(
        "it has {}, but no transformer block; other layers are used only together with blocks of "
        "the model",
        fmt::join(rows, ", "));
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
  std::set<std::string> reasons_;  // why blocks of the profile in hand are not the model's
  std::set<std::string> models_;   // of it, whose blocks are
  int used_ = 0;
  ErrorList errors_;
};

}  // namespace

MeasuredLayers match_layers(const std::vector<NamedProfile>& profiles, const model::Model& model,
                            const cluster::Cluster& cluster) {
  return Matcher(model, cluster).match(profiles);
}

}  // namespace nereus::cost
