// Converts DeepPool's measured layers (profile/deeppool.hpp) to a Profile. Equal layers of a model
// become one, with their median; the last one is the head if it is linear. The times of an in-place
// activation belong to its layer. Times are of replayed CUDA graphs in mixed precision, so the host
// launches nothing more.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/median.hpp"
#include "profile/deeppool.hpp"
#include "profile/import_parts.hpp"

namespace nereus::profile {

namespace {

using Key = std::tuple<Role, std::string, double, double>;  // type, elements, parameters

// "profile/A100_vgg.prof": device and model.
std::pair<std::string, std::string> names_in(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  const std::size_t bar = name.find('_');
  if (bar == std::string::npos || bar == 0 || bar + 1 == name.size())
    throw_input_error("profile.no-names",
                      "the name of a DeepPool profile must give its device and model, but this "
                      "name does not",
                      {path}, "DEVICE_MODEL.prof, as in A100_vgg.prof");
  return {name.substr(0, bar), name.substr(bar + 1)};
}

std::vector<double> medians(const std::vector<const DeepPoolBlock*>& equal,
                            const std::vector<double> DeepPoolBlock::*times) {
  std::vector<double> out;
  for (std::size_t i = 0; i < equal.front()->samples.size(); ++i) {
    std::vector<double> values;
    for (const DeepPoolBlock* own : equal) values.push_back((own->*times)[i]);
    out.push_back(median(values));
  }
  return out;
}

}  // namespace

void import_deeppool(std::string_view text, const std::string& file, Profile& profile) {
  const auto [device, model] = names_in(file);
  const DeepPoolProfile read = read_deeppool(text, file);
  std::vector<Key> order;
  std::map<Key, std::vector<const DeepPoolBlock*>> equal;
  for (const DeepPoolBlock& own : read.blocks) {
    const std::string type = own.name.substr(0, own.name.find('+'));
    const bool last = &own == &read.blocks.back();
    const Role role = type == "linear" && last ? Role::kHead
                      : own.parameters > 0     ? Role::kBlock
                                               : Role::kOther;
    const Key key{role, type, own.elements, own.parameters};
    if (equal[key].empty()) order.push_back(key);
    equal[key].push_back(&own);
  }
  for (const Key& key : order) {
    const std::vector<const DeepPoolBlock*>& own = equal[key];
    MeasuredLayer layer;
    layer.model = model;
    std::tie(layer.role, layer.layer, layer.elements, layer.parameters) = key;
    layer.device = device;
    layer.precision = "fp16";
    layer.includes_launches = true;
    layer.samples = own.front()->samples;
    layer.forward = medians(own, &DeepPoolBlock::forward);
    layer.backward = medians(own, &DeepPoolBlock::backward);
    const auto zero = [](const std::vector<double>& times) {
      return std::any_of(times.begin(), times.end(), [](double t) { return !(t > 0); });
    };
    if (zero(layer.forward)) {
      profile.notes.push_back(
          fmt::format("{} of {} on {} is ignored, because its forward pass "
                      "takes 0",
                      layer.layer, model, device));
      continue;
    }
    if (zero(layer.backward)) {
      profile.notes.push_back(
          fmt::format("{} of {} on {}: its backward time is ignored, because it is 0", layer.layer,
                      model, device));
      layer.backward.clear();
    }
    add_layer(profile, std::move(layer));
  }
}

}  // namespace nereus::profile
