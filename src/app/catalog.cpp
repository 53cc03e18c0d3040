#include "app/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "base/nearest.hpp"
#include "model/read/load_model.hpp"

namespace nereus::app {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Keeps the entries of which one of the words contains the filter; `words_of` gives the name first.
template <class Entry, class WordsOf>
std::vector<Entry> kept(const std::vector<Entry>& entries, std::string_view filter,
                        const char* kind, WordsOf words_of) {
  const std::string wanted = lower(filter);
  std::vector<Entry> result;
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    const std::vector<std::string> words = words_of(entry);
    names.push_back(words.front());
    if (std::any_of(words.begin(), words.end(), [&](const std::string& word) {
          return lower(word).find(wanted) != std::string::npos;
        })) {
      result.push_back(entry);
    }
  }
  if (result.empty()) {
    const auto near = nearest(filter, names);
    throw_input_error("catalog.no-match", fmt::format("no {} contains '{}'", kind, filter), {},
                      near ? fmt::format("did you mean {}?", *near)
                           : fmt::format("nereus catalog {}s lists all", kind));
  }
  return result;
}

ModelEntry describe(const model::CatalogueModel& known) {
  const model::Model model = model::load_model(known.name);
  ModelEntry entry{.name = known.name,
                   .family = known.family,
                   .num_layers = model.num_layers(),
                   .tokens_per_sample = model.tokens_per_sample,
                   .parameters = model.parameters(),
                   .training_flops = model.training_flops(),
                   .source = known.source};
  if (model.transformer) {
    entry.num_layers = model.transformer->layers;
    entry.hidden = model.transformer->hidden;
    entry.heads = model.transformer->heads;
    entry.kv_heads = model.transformer->kv_heads;
    entry.vocab = model.transformer->vocab;
    entry.experts = model.transformer->experts;
  }
  return entry;
}

}  // namespace

std::vector<ModelEntry> catalog_models(std::string_view filter) {
  std::vector<ModelEntry> entries;
  for (const model::CatalogueModel& known :
       kept(model::catalogue_models(), filter, "model", [](const model::CatalogueModel& entry) {
         return std::vector{entry.name, entry.family};
       })) {
    entries.push_back(describe(known));
  }
  return entries;
}

std::vector<cluster::Device> catalog_devices(std::string_view filter) {
  return kept(cluster::builtin_catalogue().devices(), filter, "device",
              [](const cluster::Device& device) {
                return std::vector{device.short_name, device.name};
              });
}

std::vector<cluster::Node> catalog_nodes(std::string_view filter) {
  return kept(cluster::builtin_catalogue().nodes(), filter, "node", [](const cluster::Node& node) {
    return std::vector{node.name, node.provider, node.device.short_name, node.device.name};
  });
}

std::vector<cluster::Offer> catalog_offers(std::string_view filter) {
  return kept(cluster::builtin_catalogue().offers(), filter, "offer",
              [](const cluster::Offer& offer) {
                return std::vector{offer.node.name, offer.node.provider, offer.gpu_model,
                                   offer.node.device.short_name};
              });
}

}  // namespace nereus::app
