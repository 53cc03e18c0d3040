// Shared by the importers. Only for use inside profile/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "profile/profile.hpp"
#include "spec/value.hpp"

namespace nereus::profile {

std::optional<double> number_in(const spec::Value& value);
std::optional<int> whole_in(std::string_view text);  // must be above 0
// The first member, to distinguish forms; nullptr if there is none.
const spec::Member* first_member(const spec::Value* value);
// Adds the layer, unless its times vary by more than noise; then adds a note.
void add_layer(Profile& profile, MeasuredLayer layer);

struct CephaloSize {
  int hidden = 0;
  double parameters = 0;  // per layer
};
using CephaloSizes = std::map<std::string, CephaloSize, std::less<>>;
CephaloSizes read_cephalo_sizes(const spec::Value& root, ErrorList& errors);
void import_cephalo(const spec::Value& root, const CephaloSizes& sizes, Profile& profile,
                    ErrorList& errors);

// Reads DeepPool's text (profile/deeppool.hpp); the file name has device and model: A100_vgg.prof.
void import_deeppool(std::string_view text, const std::string& file, Profile& profile);

struct SailorSize {
  double parameters = 0;
  double elements = 0;  // of its output
  double bytes = 0;     // per parameter
};
struct SailorModel {
  std::vector<SailorSize> layers{};      // unsplit
  std::map<int, double> block_memory{};  // bytes that a block keeps per sample, by tp
};
using SailorSizes = std::map<std::string, SailorModel, std::less<>>;  // by model
SailorSizes read_sailor_sizes(const spec::Value& root, ErrorList& errors);
void import_sailor(const spec::Value& root, const std::string& model, const std::string& device,
                   const SailorSizes& sizes, Profile& profile, ErrorList& errors);

}  // namespace nereus::profile
