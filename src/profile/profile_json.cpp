#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "profile/machine_json.hpp"
#include "profile/profile.hpp"
#include "spec/reader.hpp"

namespace nereus::profile {

namespace {

using Json = nlohmann::ordered_json;
using spec::Reader;

constexpr double kLongestTime = 3600;  // seconds of one layer
constexpr double kWidest = 1e6;        // seconds of an interval, which may be longer than its time
constexpr double kMostBytes = 1e15;    // of one layer
constexpr double kMostSamples = 1e9;   // of a micro-batch
constexpr double kMostParameters = 1e15;
constexpr int kMostTokens = 1 << 30;
constexpr int kMostProfileRanks = 1 << 20;

std::string name_of(const MeasuredLayer& layer) {
  const std::string tokens = layer.seq > 0 ? fmt::format(", {} tokens", layer.seq) : "";
  return fmt::format("{} of {} on {}{}, {}, tp {}",
                     layer.layer.empty() ? std::string(to_string(layer.role)) : layer.layer,
                     layer.model, layer.device, tokens, layer.precision, layer.tp);
}

// `fail(key, code, message, hint)` notes one fault.
template <class Fail>
void check_values(const std::vector<double>& values, std::size_t wanted, const char* key,
                  const char* what, double most, const Fail& fail) {
  if (values.size() != wanted)
    fail(key, "profile.length",
         fmt::format("{} has {} values for {} numbers of samples", key, values.size(), wanted),
         "one value for each of samples");
  for (const double value : values)
    if (!(value > 0) || !(value <= most))
      fail(key, "profile.value",
           fmt::format("{} is {}, and must be above 0 and at most {}", what, value, most),
           "leave the layer out where it was not measured");
}

// The quantiles of the repeats, if known, must be on both sides of the median.
template <class Fail>
void check_ranges(const std::vector<double>& median, const std::vector<double>& low,
                  const std::vector<double>& high, const char* what, const Fail& fail) {
  if (low.empty() && high.empty()) return;
  const std::string key = fmt::format("{}_low_s", what);
  if (low.size() != median.size() || high.size() != median.size()) {
    fail(key.c_str(), "profile.length",
         fmt::format("{} low and {} high values of {} {} times", low.size(), high.size(),
                     median.size(), what),
         "one of each for each of samples");
    return;
  }
  for (std::size_t i = 0; i < median.size(); ++i)
    if (!(low[i] >= 0 && low[i] <= median[i] && median[i] <= high[i] && high[i] <= kLongestTime))
      fail(key.c_str(), "profile.quantiles",
           fmt::format("low {}, median {}, high {} are not in order", low[i], median[i], high[i]),
           "low <= median <= high");
}

template <class Fail>
void check_half_widths(const std::vector<double>& times, const std::vector<double>& half_widths,
                       int processes, const char* what, const Fail& fail) {
  if (half_widths.empty()) return;
  const std::string key = fmt::format("{}_half_width_s", what);
  if (processes < 2)
    fail(key.c_str(), "profile.processes",
         fmt::format("an interval over {} processes; one takes at least two", processes),
         "\"processes\": 5, or leave it out");
  if (half_widths.size() != times.size())
    fail(key.c_str(), "profile.length",
         fmt::format("{} half widths of {} {} times", half_widths.size(), times.size(), what),
         "one for each of samples");
  for (const double own : half_widths)
    if (!(own >= 0 && own <= kWidest))
      fail(key.c_str(), "profile.value",
           fmt::format("a half width is {}, and must be 0 to {:g}", own, kWidest),
           "leave it out where it is not known");
}

template <class Fail>
void check_layer(const MeasuredLayer& layer, const Fail& fail) {
  if (layer.seq == 0 && layer.elements == 0)
    fail("seq", "profile.shape", "neither seq nor elements says how large a sample is",
         "\"seq\": 2048");
  if (layer.samples.empty())
    fail("samples", "profile.length", "a layer was measured with at least one number of samples",
         "");
  for (std::size_t i = 0; i < layer.samples.size(); ++i) {
    if (!(layer.samples[i] > 0) || !(layer.samples[i] <= kMostSamples))
      fail("samples", "profile.value",
           fmt::format("a micro-batch of {} samples; it has more than 0 and at most {}",
                       layer.samples[i], kMostSamples),
           "");
    if (i > 0 && !(layer.samples[i] > layer.samples[i - 1]))
      fail("samples", "profile.order",
           fmt::format("{} samples after {}", layer.samples[i], layer.samples[i - 1]),
           "each number of samples once, ascending");
  }
  const std::size_t n = layer.samples.size();
  check_values(layer.forward, n, "forward_s", "a forward time", kLongestTime, fail);
  if (!layer.backward.empty())
    check_values(layer.backward, n, "backward_s", "a backward time", kLongestTime, fail);
  const auto noise = [&](const std::vector<double>& seconds, const char* key) {
    if (seconds.size() != n) return;
    for (const double value : seconds)
      if (!(value > 0)) return;
    const RepairedCurve repaired = curve_of(layer.samples, seconds);
    if (repaired.most > kMostNoise)
      fail(key, "profile.not-monotone",
           fmt::format("more samples take less: a curve that never falls is {:.3g} times off, and "
                       "noise at most {:g}",
                       repaired.most, kMostNoise),
           "measure again, or leave the point out");
  };
  noise(layer.forward, "forward_s");
  noise(layer.backward, "backward_s");
  check_ranges(layer.forward, layer.forward_low, layer.forward_high, "forward", fail);
  check_ranges(layer.backward, layer.backward_low, layer.backward_high, "backward", fail);
  check_half_widths(layer.forward, layer.forward_half_width, layer.processes, "forward", fail);
  check_half_widths(layer.backward, layer.backward_half_width, layer.processes, "backward", fail);
}

class Twins {
 public:
  bool seen(const MeasuredLayer& l) {
    return !seen_
                .emplace(l.model, l.role, l.device, l.precision, l.seq, l.tp, l.hidden, l.layer,
                         l.layer.empty() ? 0 : l.elements, l.layer.empty() ? 0 : l.parameters)
                .second;
  }

 private:
  std::set<std::tuple<std::string, Role, std::string, std::string, int, int, int, std::string,
                      double, double>>
      seen_;
};

MeasuredLayer read_layer(Reader& r) {
  MeasuredLayer l;
  l.model = r.required_string("model");
  l.role = r.required_enum<Role>("role", {{"embedding", Role::kEmbedding},
                                          {"block", Role::kBlock},
                                          {"head", Role::kHead},
                                          {"other", Role::kOther}});
  l.layer = r.optional_string("layer");
  l.hidden = r.optional_int("hidden", 0, 0, kMostTokens);
  l.seq = r.optional_int("seq", 0, 1, kMostTokens);
  l.elements = r.optional_double("elements", 0, 1, kMostParameters);
  l.parameters = r.optional_double("parameters", 0, 0, kMostParameters);
  l.device = r.required_string("device");
  l.precision = r.required_string("precision");
  l.tp = r.required_int("tp", 1, kMostProfileRanks);
  l.includes_collectives = r.optional_bool("includes_collectives", false);
  l.includes_launches = r.optional_bool("includes_launches", false);
  l.includes_rest = r.optional_bool("includes_rest", false);
  l.fitted = r.optional_bool("fitted_line", false);
  l.samples = r.required_doubles("samples");
  l.forward = r.required_doubles("forward_s");
  l.backward = r.optional_doubles("backward_s");
  l.forward_low = r.optional_doubles("forward_low_s");
  l.forward_high = r.optional_doubles("forward_high_s");
  l.backward_low = r.optional_doubles("backward_low_s");
  l.backward_high = r.optional_doubles("backward_high_s");
  l.processes = r.optional_int("processes", 0, 1, kMostProcesses);
  l.forward_half_width = r.optional_doubles("forward_half_width_s");
  l.backward_half_width = r.optional_doubles("backward_half_width_s");
  if (r.has("update_s")) {
    l.update = r.required_double("update_s");
    if (!(l.update > 0 && l.update <= kLongestTime))
      r.fail("update_s", "profile.value",
             fmt::format("an update takes {} s, and must take more than 0 and at most {}", l.update,
                         kLongestTime),
             "leave update_s out where it was not measured");
  }
  if (r.has("memory_bytes")) {
    l.memory = r.required_double("memory_bytes");
    if (!(l.memory > 0 && l.memory <= kMostBytes))
      r.fail("memory_bytes", "profile.value",
             fmt::format("a sample keeps {} B, and must keep more than 0 and at most {:g}",
                         l.memory, kMostBytes),
             "leave memory_bytes out where it was not measured");
  }
  return l;
}

}  // namespace

Profile parse_profile(std::string_view text, const std::string& file) {
  ErrorList errors;
  const spec::Value root = spec::parse_json(text, file);
  Reader r(root, errors, spec::Units::kRawSi);
  const int version = r.required_int("schema_version", 1);
  if (r.has("schema_version") && version != kProfileSchemaVersion)
    r.fail("schema_version", "profile.schema-version",
           fmt::format("this profile has schema_version {}, and this program reads version {}",
                       version, kProfileSchemaVersion),
           "nereus import writes it anew");
  errors.throw_if_any();
  Profile profile;
  Reader origin = r.optional_table("origin");
  profile.origin.source = origin.optional_string("source");
  profile.origin.licence = origin.optional_string("licence");
  profile.origin.date = origin.optional_string("date");
  profile.origin.library = origin.optional_string("library");
  profile.origin.driver = origin.optional_string("driver");
  origin.finish();
  profile.notes = r.optional_strings("notes");
  profile.machine = read_machine(r);
  // A machine may be measured without any model.
  std::vector<Reader> layers =
      profile.machine.empty() ? r.required_tables("layers") : r.optional_tables("layers");
  Twins twins;
  for (Reader& layer : layers) {
    MeasuredLayer own = read_layer(layer);
    check_layer(own, [&](const char* key, std::string code, std::string message, std::string hint) {
      layer.fail(key, std::move(code), std::move(message), std::move(hint));
    });
    if (twins.seen(own))
      layer.fail("model", "profile.twice", fmt::format("{} is there twice", name_of(own)),
                 "one entry for each layer, device, precision and tp");
    layer.finish();
    profile.layers.push_back(std::move(own));
  }
  r.finish();
  errors.throw_if_any();
  return profile;
}

void check_profile(const Profile& profile, const std::string& file) {
  ErrorList errors;
  Twins twins;
  for (const MeasuredLayer& layer : profile.layers) {
    check_layer(layer, [&](const char*, std::string code, std::string message, std::string hint) {
      errors.add(std::move(code), fmt::format("{}: {}", name_of(layer), message), {file},
                 std::move(hint));
    });
    if (twins.seen(layer))
      errors.add("profile.twice", fmt::format("{} is there twice", name_of(layer)), {file},
                 "one entry for each layer, device, precision and tp");
  }
  errors.throw_if_any();
}

std::string profile_to_json(const Profile& profile) {
  Json json;
  json["schema_version"] = kProfileSchemaVersion;
  Json origin = Json::object();
  const auto say = [&](const char* key, const std::string& text) {
    if (!text.empty()) origin[key] = text;
  };
  say("source", profile.origin.source);
  say("licence", profile.origin.licence);
  say("date", profile.origin.date);
  say("library", profile.origin.library);
  say("driver", profile.origin.driver);
  json["origin"] = origin;
  json["notes"] = profile.notes;
  // A line a layer: files are long, and differences are read by layer.
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  text.erase(text.rfind('}'));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  text += machine_members(profile.machine);
  text += ",\n \"layers\": [";
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const MeasuredLayer& l = profile.layers[i];
    Json own;
    own["model"] = l.model;
    own["role"] = to_string(l.role);
    if (!l.layer.empty()) own["layer"] = l.layer;
    if (l.hidden > 0) own["hidden"] = l.hidden;
    if (l.seq > 0) own["seq"] = l.seq;
    if (l.elements > 0) own["elements"] = l.elements;
    if (l.parameters > 0) own["parameters"] = l.parameters;
    own["device"] = l.device;
    own["precision"] = l.precision;
    own["tp"] = l.tp;
    own["includes_collectives"] = l.includes_collectives;
    own["includes_launches"] = l.includes_launches;
    if (l.includes_rest) own["includes_rest"] = true;
    if (l.fitted) own["fitted_line"] = true;
    own["samples"] = l.samples;
    own["forward_s"] = l.forward;
    if (!l.backward.empty()) own["backward_s"] = l.backward;
    const auto range = [&](const char* key, const std::vector<double>& values) {
      if (!values.empty()) own[key] = values;
    };
    range("forward_low_s", l.forward_low);
    range("forward_high_s", l.forward_high);
    range("backward_low_s", l.backward_low);
    range("backward_high_s", l.backward_high);
    if (l.processes > 0) own["processes"] = l.processes;
    range("forward_half_width_s", l.forward_half_width);
    range("backward_half_width_s", l.backward_half_width);
    if (l.update > 0) own["update_s"] = l.update;
    if (l.memory > 0) own["memory_bytes"] = l.memory;
    text += (i > 0 ? ",\n  " : "\n  ") + own.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text + "\n ]\n}\n";
}

}  // namespace nereus::profile
