// Reads Sailor's profiles (Strati et al., SOSP 2025). Their layers are the embedding, the blocks,
// and norm and logits, which count as one head here. A block is the median of the model's blocks,
// which are equal. Times are those of a whole layer on its rank, including tensor collectives and
// launches: they grow with tp if the link between the ranks is slow.
//
// The backward time of the first layer is that of an empty call (2 to 4 us), because its input has
// no gradient. Some profiles have zeros there and for the update. Neither was measured.
#include <fmt/format.h>

#include <map>

#include "base/format.hpp"
#include "base/median.hpp"
#include "profile/import_parts.hpp"

namespace nereus::profile {

using spec::Array;
using spec::Table;
using spec::Value;

namespace {

constexpr double kLongest = 3600;
constexpr double kEmptyCall = 1e-5;  // seconds
constexpr std::size_t kMostLayers = 1 << 16;

struct Times {
  double forward = 0;
  double backward = 0;
  double update = 0;
};

double size_of(const Value& layer, const char* key, ErrorList& errors) {
  const Value* value = layer.find(key);
  const std::optional<double> own = value ? number_in(*value) : std::nullopt;
  if (own && *own > 0 && *own < 1e15) return *own;
  errors.add("profile.size", fmt::format("{} of a layer is no size above 0", key), layer.where(),
             "llm_info.json as Sailor has it");
  return 1;
}

// Elements of a table with the keys 0, 1, ..., up to the first missing one.
std::vector<const Value*> in_order(const Value& value) {
  std::vector<const Value*> out;
  const Table* table = std::get_if<Table>(&value.data);
  if (!table) return out;
  std::map<std::string_view, const Value*> by_key;
  for (const auto& [key, own] : *table) by_key[key] = &own;
  while (out.size() < by_key.size() && out.size() < kMostLayers) {
    const auto at = by_key.find(std::to_string(out.size()));
    if (at == by_key.end()) break;
    out.push_back(at->second);
  }
  return out;
}

std::optional<Times> read_times(const Value& value) {
  const Array* list = std::get_if<Array>(&value.data);
  if (!list || list->size() != 3) return std::nullopt;
  double numbers[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const std::optional<double> own = number_in((*list)[i]);
    if (!own || !(*own >= 0) || !(*own <= kLongest)) return std::nullopt;
    numbers[i] = *own;
  }
  return Times{numbers[0], numbers[1], numbers[2]};
}

// The role of a layer in the model: 0 the embedding, 1 a block, 2 part of the head.
int part_of(const std::vector<SailorSize>& sizes, std::size_t layer) {
  if (layer == 0) return 0;
  return sizes[layer].parameters == sizes[1].parameters ? 1 : 2;
}

// One number of samples of one tp: the three parts, of which the head may be missing.
struct Parts {
  Times of[3];
  bool has_head = false;
};

std::optional<Parts> read_parts(const Value& value, const std::vector<SailorSize>& sizes,
                                ErrorList& errors) {
  const std::vector<const Value*> layers = in_order(value);
  Parts parts;
  std::vector<double> forward, backward, update;
  bool right = true;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::optional<Times> own = read_times(*layers[i]);
    const int part = part_of(sizes, i);
    // Layers before the blocks need a forward time, blocks need both.
    if (!own || !(own->forward > 0) || (part == 1 && !(own->backward > 0))) {
      errors.add("profile.value",
                 fmt::format("layer {} is no [forward, backward, update] of 0 to {} s, the first{} "
                             "above 0",
                             i, kLongest, part == 1 ? " two" : ""),
                 layers[i]->where());
      right = false;
      continue;
    }
    update.push_back(own->update);
    if (part == 0) parts.of[0] = *own;
    if (part == 1) {
      forward.push_back(own->forward);
      backward.push_back(own->backward);
    }
    if (part == 2) {
      parts.of[2].forward += own->forward;
      parts.of[2].backward += own->backward;
      parts.has_head = true;
    }
  }
  if (!right || forward.empty()) return std::nullopt;
  parts.of[1] = {median(forward), median(backward), median(update)};
  return parts;
}

}  // namespace

SailorSizes read_sailor_sizes(const Value& root, ErrorList& errors) {
  SailorSizes sizes;
  for (const auto& [model, degrees] : std::get<Table>(root.data)) {
    const Value* whole = degrees.find("1");
    const std::vector<const Value*> layers = whole ? in_order(*whole) : std::vector<const Value*>{};
    if (layers.size() < 2) {
      errors.add("profile.size", fmt::format("{} has no sizes of its layers at tp 1", model),
                 degrees.where(), "llm_info.json as Sailor has it");
      continue;
    }
    for (const Value* layer : layers) {
      SailorSize size;
      size.parameters = size_of(*layer, "params_floats", errors);
      size.elements = size_of(*layer, "act_output_floats", errors);
      size.bytes = size_of(*layer, "params_bytes", errors) / size.parameters;
      sizes[model].layers.push_back(size);
    }
    // Two readings of a block's memory differ by a few bytes of alignment: the first block's.
    for (const auto& [tp_text, by_layer] : std::get<Table>(degrees.data)) {
      const std::optional<int> tp = whole_in(tp_text);
      const std::vector<const Value*> own = in_order(by_layer);
      if (tp && own.size() > 1 && own[1]->find("act_mem_bytes"))
        sizes[model].block_memory[*tp] = size_of(*own[1], "act_mem_bytes", errors);
    }
  }
  return sizes;
}

void import_sailor(const Value& root, const std::string& model, const std::string& device,
                   const SailorSizes& all_sizes, Profile& profile, ErrorList& errors) {
  const auto known = all_sizes.find(model);
  if (known == all_sizes.end()) {
    errors.add("profile.no-sizes", fmt::format("no given file describes the layers of {}", model),
               root.where(), "also give Sailor's llm_info.json");
    return;
  }
  const std::vector<SailorSize>& sizes = known->second.layers;
  // By tp, then by samples.
  std::map<int, std::map<int, Parts>> found;
  const Table* by_samples = std::get_if<Table>(&root.data);
  if (!by_samples) {
    errors.add("profile.shape", fmt::format("{} on {} is no table", model, device), root.where());
    return;
  }
  for (const auto& [samples_text, by_tp] : *by_samples) {
    const std::optional<int> samples = whole_in(samples_text);
    const Table* degrees = std::get_if<Table>(&by_tp.data);
    if (!samples || !degrees) {
      errors.add("profile.shape",
                 fmt::format("'{}' of {} on {} is no micro-batch with a table of tp", samples_text,
                             model, device),
                 by_tp.where());
      continue;
    }
    for (const auto& [tp_text, layers] : *degrees) {
      const std::optional<int> tp = whole_in(tp_text);
      if (!tp) {
        errors.add("profile.shape", fmt::format("'{}' is no tp", tp_text), layers.where());
        continue;
      }
      const std::size_t count = in_order(layers).size();
      if (count != sizes.size()) {
        errors.add("profile.other-model",
                   fmt::format("{} on {}, {}, tp {} has {}, and {} has {}", model, device,
                               counted(*samples, "sample"), *tp, counted(count, "layer"), model,
                               sizes.size()),
                   layers.where(), "it is the profile of another model, so remove the file");
        return;
      }
      if (const std::optional<Parts> parts = read_parts(layers, sizes, errors))
        found[*tp][*samples] = *parts;
    }
  }
  bool no_update = false;
  for (const auto& [tp, points] : found) {
    for (int part = 0; part < 3; ++part) {
      MeasuredLayer layer;
      layer.model = model;
      layer.role = part == 0 ? Role::kEmbedding : part == 1 ? Role::kBlock : Role::kHead;
      layer.device = device;
      layer.precision = sizes[1].bytes >= 4 ? "fp32" : "fp16";
      layer.tp = tp;
      layer.elements = sizes[1].elements;
      for (std::size_t i = 0; i < sizes.size(); ++i)
        if (part_of(sizes, i) == part)
          layer.parameters =
              part == 2 ? layer.parameters + sizes[i].parameters : sizes[i].parameters;
      layer.includes_collectives = layer.includes_launches = true;
      std::vector<double> updates;
      bool backward = true;
      for (const auto& [samples, parts] : points) {
        const Times& own = parts.of[part];
        if (part == 2 && !parts.has_head) continue;
        layer.samples.push_back(samples);
        layer.forward.push_back(own.forward);
        layer.backward.push_back(own.backward);
        backward = backward && own.backward > kEmptyCall;
        updates.push_back(parts.of[1].update);
      }
      if (layer.samples.empty()) continue;
      if (!backward) layer.backward.clear();
      if (const double update = median(updates); update > 0) layer.update = update;
      const auto memory = known->second.block_memory.find(tp);
      if (part == 1 && memory != known->second.block_memory.end()) layer.memory = memory->second;
      no_update = no_update || layer.update <= 0;
      add_layer(profile, std::move(layer));
    }
  }
  profile.notes.push_back(fmt::format(
      "{} on {}: the backward time of the embedding is ignored, because it is that of an empty "
      "call",
      model, device));
  if (no_update)
    profile.notes.push_back(
        fmt::format("{} on {}: update times of 0 s are ignored, because they were not measured",
                    model, device));
}

}  // namespace nereus::profile
