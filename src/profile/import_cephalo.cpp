// Reads Cephalo's table of layer times (Guo et al., ICS 2025), and Zorse's later copy of it. It has
// one block of the model, only kernels, for 1, 2, ... samples. For entries with a fitted line and
// without points, two points of the line (1 and 64 samples) are used and marked, because the
// measurements are unknown.
#include <fmt/format.h>

#include "base/format.hpp"
#include "profile/import_parts.hpp"
#include "profile/layer_times.hpp"

namespace nereus::profile {

using spec::Table;
using spec::Value;

namespace {
constexpr int kFarOnLine = 64;  // samples
}

CephaloSizes read_cephalo_sizes(const Value& root, ErrorList& errors) {
  CephaloSizes sizes;
  for (const auto& [model, value] : std::get<Table>(root.data)) {
    const Value* hidden = value.find("hidden_size");
    const Value* parameters = value.find("parameters_per_layer");
    const std::optional<double> width = hidden ? number_in(*hidden) : std::nullopt;
    const std::optional<double> count = parameters ? number_in(*parameters) : std::nullopt;
    if (!width || !count || !(*width >= 1 && *width < 1e9) || !(*count >= 1 && *count < 1e15)) {
      errors.add("profile.size",
                 fmt::format("{} has no hidden_size and parameters_per_layer above 0", model),
                 value.where(), "model_stats.json as Cephalo has it");
      continue;
    }
    sizes[model] = {static_cast<int>(*width), *count};
  }
  return sizes;
}

void import_cephalo(const Value& root, const CephaloSizes& sizes, Profile& profile,
                    ErrorList& errors) {
  const LayerProfile read = read_cephalo_latencies(root, errors);
  if (!errors.empty()) return;
  int lines = 0, unknown = 0, below = 0;
  for (const LayerTimes& times : read.times) {
    const std::size_t n = std::min(times.forward.points.size(), times.backward.points.size());
    const auto size = sizes.find(times.model);
    if (size == sizes.end()) {
      ++unknown;
      continue;
    }
    MeasuredLayer layer;
    layer.model = times.model;
    layer.role = Role::kBlock;
    layer.hidden = size->second.hidden;
    layer.seq = times.seq;
    layer.parameters = size->second.parameters;
    layer.device = times.device;
    layer.precision = times.precision == "float16"    ? "fp16"
                      : times.precision == "bfloat16" ? "bf16"
                      : times.precision == "float32"  ? "fp32"
                                                      : times.precision;
    layer.fitted = n == 0;
    for (std::size_t i = 0; i < (n == 0 ? 2 : n); ++i) {
      const int samples = n == 0 && i == 1 ? kFarOnLine : static_cast<int>(i) + 1;
      layer.samples.push_back(samples);
      layer.forward.push_back(times.forward.at(samples));
      layer.backward.push_back(times.backward.at(samples));
    }
    if (layer.fitted && !(layer.forward[0] > 0 && layer.backward[0] > 0 && layer.forward[1] > 0 &&
                          layer.backward[1] > 0)) {
      ++below;
      continue;
    }
    lines += layer.fitted ? 1 : 0;
    add_layer(profile, std::move(layer));
  }
  const auto note = [&](std::size_t count, const char* why) {
    if (count > 0)
      profile.notes.push_back(
          fmt::format("{} ignored: {}", counted(count, "entry is", "entries are"), why));
  };
  note(static_cast<std::size_t>(below), "a fitted line that gives no time above 0");
  if (lines > 0)
    profile.notes.push_back(fmt::format(
        "{} a fitted line without its measured points, so all its times are extrapolated",
        counted(lines, "entry is", "entries are")));
  note(read.left_out.size(), "no separate times for forward and backward");
  note(static_cast<std::size_t>(unknown),
       "models whose sizes are not in any given file (model_stats.json)");
}

}  // namespace nereus::profile
