#include "profile/import_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/parse_number.hpp"
#include "profile/deeppool.hpp"
#include "profile/import_parts.hpp"

namespace nereus::profile {

using spec::Array;
using spec::Member;
using spec::Table;
using spec::Value;

std::optional<double> number_in(const Value& value) {
  if (const double* real = std::get_if<double>(&value.data)) return *real;
  if (const std::int64_t* whole = std::get_if<std::int64_t>(&value.data))
    return static_cast<double>(*whole);
  return std::nullopt;
}

std::optional<int> whole_in(std::string_view text) {
  const std::optional<int> number = parse_number<int>(text);
  return number && *number >= 1 ? number : std::nullopt;
}

const Member* first_member(const Value* value) {
  const Table* table = value ? std::get_if<Table>(&value->data) : nullptr;
  return table && !table->empty() ? &table->front() : nullptr;
}

void add_layer(Profile& profile, MeasuredLayer layer) {
  const auto name = [&] {
    const std::string what = layer.layer.empty()
                                 ? std::string(to_string(layer.role))
                                 : fmt::format("{} ({:g} elements)", layer.layer, layer.elements);
    return fmt::format("{} of {} on {}, tp {}", what, layer.model, layer.device, layer.tp);
  };
  double most = curve_of(layer.samples, layer.forward).most;
  int moved = curve_of(layer.samples, layer.forward).moved;
  if (!layer.backward.empty()) {
    const RepairedCurve backward = curve_of(layer.samples, layer.backward);
    most = std::max(most, backward.most);
    moved += backward.moved;
  }
  if (most > kMostNoise) {
    profile.notes.push_back(fmt::format(
        "{} is ignored: more samples take less time, and a non-decreasing curve would be off by a "
        "factor of {:.3g}",
        name(), most));
    return;
  }
  if (moved > 0)
    profile.notes.push_back(
        fmt::format("{}: at {} the time falls though there are more samples; these times are "
                    "smoothed by at most {:.0f} % when they are used",
                    name(), counted(moved, "point"), 100 * (most - 1)));
  profile.layers.push_back(std::move(layer));
}

namespace {

const Array* list_in(const Value& value) { return std::get_if<Array>(&value.data); }

// micro-batch -> tp -> layer -> three numbers
bool is_sailor(const Value& root) {
  const Member* samples = first_member(&root);
  const Member* tp = samples ? first_member(&samples->second) : nullptr;
  const Member* layer = tp ? first_member(&tp->second) : nullptr;
  return layer && whole_in(samples->first) && whole_in(tp->first) && list_in(layer->second) &&
         list_in(layer->second)->size() == 3;
}

ProfileForm form_of_value(const Value& root) {
  if (root.find("schema_version") && (root.find("layers") || root.find("context")))
    return ProfileForm::kOwn;
  if (is_sailor(root)) return ProfileForm::kSailor;
  const Member* a = first_member(&root);
  const Member* b = a ? first_member(&a->second) : nullptr;
  if (!b) return ProfileForm::kNone;
  if (a->second.find("hidden_size") && a->second.find("parameters_per_layer"))
    return ProfileForm::kCephaloSizes;
  if (is_sailor(b->second)) return ProfileForm::kSailorAll;
  const Member* c = first_member(&b->second);
  if (!c) return ProfileForm::kNone;
  if (whole_in(b->first) && c->second.find("params_floats")) return ProfileForm::kSailorSizes;
  const Member* d = first_member(&c->second);
  if (d && whole_in(c->first) && list_in(d->second)) return ProfileForm::kCephalo;
  return ProfileForm::kNone;
}

struct Parsed {
  const ProfileFile* file;
  Value root;
  ProfileForm form;
};

// "profiles/OPT-350/A100-40/profile.json": model and device.
std::pair<std::string, std::string> measured_names(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() < 3)
    throw_input_error("profile.no-names",
                      "the folders of a Sailor profile must give its model and device, but this "
                      "profile has none",
                      {path}, "MODEL/DEVICE/profile.json, as in OPT-350/A100-40/profile.json");
  return {parts[parts.size() - 3], parts[parts.size() - 2]};
}

void set_origin(Profile& profile, const char* source, const char* licence) {
  std::string& own = profile.origin.source;
  if (own.find(source) != std::string::npos) return;
  own += own.empty() ? source : fmt::format("; {}", source);
  if (profile.origin.licence.empty()) profile.origin.licence = licence;
}

void join(Profile& profile, Profile other) {
  if (profile.machine.empty()) profile.machine = other.machine;  // the first counts
  if (profile.origin.source.empty()) profile.origin = other.origin;
  for (std::string& note : other.notes) profile.notes.push_back(std::move(note));
  for (MeasuredLayer& layer : other.layers) profile.layers.push_back(std::move(layer));
}

void import_file(const Parsed& own, const SailorSizes& sailor, const CephaloSizes& cephalo,
                 Profile& profile, ErrorList& errors) {
  switch (own.form) {
    case ProfileForm::kOwn:
      join(profile, parse_profile(own.file->text, own.file->name));
      break;
    case ProfileForm::kSailor: {
      const auto [model, device] = measured_names(own.file->name);
      import_sailor(own.root, model, device, sailor, profile, errors);
      set_origin(profile, "github.com/eth-easl/sailor", "MIT");
      break;
    }
    case ProfileForm::kSailorAll:
      for (const auto& [model, devices] : std::get<Table>(own.root.data))
        if (const Table* table = std::get_if<Table>(&devices.data))
          for (const auto& [device, value] : *table)
            import_sailor(value, model, device, sailor, profile, errors);
      set_origin(profile, "github.com/eth-easl/sailor", "MIT");
      break;
    case ProfileForm::kCephalo:
      import_cephalo(own.root, cephalo, profile, errors);
      set_origin(profile, "github.com/benson-guo/cephalo or github.com/benson-guo/zorse", "MIT");
      break;
    case ProfileForm::kDeepPool:
      import_deeppool(own.file->text, own.file->name, profile);
      set_origin(profile, "github.com/DeepPoolML/DeepPool", "MIT");
      break;
    case ProfileForm::kSailorSizes:
    case ProfileForm::kCephaloSizes:
      break;
    case ProfileForm::kNone:
      errors.add("profile.unknown-form",
                 fmt::format("{} is not a profile in any known format", own.file->name),
                 {own.file->name},
                 "nereus profiles, Sailor's profile.json and llm_info.json, Cephalo's and Zorse's "
                 "model_latencies.json and model_stats.json, DeepPool's DEVICE_MODEL.prof");
  }
}

}  // namespace

ProfileForm form_of(const ProfileFile& file) {
  if (is_deeppool(file.text)) return ProfileForm::kDeepPool;
  try {
    return form_of_value(spec::parse_json(file.text, file.name));
  } catch (const Errors&) {
    return ProfileForm::kNone;
  }
}

Profile import_profiles(const std::vector<ProfileFile>& files) {
  std::vector<Parsed> parsed;
  for (const ProfileFile& file : files) {
    if (is_deeppool(file.text)) {
      parsed.push_back({&file, {}, ProfileForm::kDeepPool});
      continue;
    }
    Value root = spec::parse_json(file.text, file.name);
    const ProfileForm form = form_of_value(root);
    parsed.push_back({&file, std::move(root), form});
  }
  ErrorList errors;
  SailorSizes sailor;
  CephaloSizes cephalo;
  for (const Parsed& own : parsed) {
    if (own.form == ProfileForm::kSailorSizes) sailor = read_sailor_sizes(own.root, errors);
    if (own.form == ProfileForm::kCephaloSizes) cephalo = read_cephalo_sizes(own.root, errors);
  }
  errors.throw_if_any();
  Profile profile;
  for (const Parsed& own : parsed) import_file(own, sailor, cephalo, profile, errors);
  errors.throw_if_any();
  const std::string first = files.empty() ? "" : files.front().name;
  if (profile.layers.empty())
    throw_input_error("profile.empty",
                      profile.notes.empty() ? "no file contains layer times"
                                            : "no layer can be used: " + profile.notes.front(),
                      {first}, "Sailor's profile.json, Cephalo's model_latencies.json");
  check_profile(profile, first);
  return profile;
}

}  // namespace nereus::profile
