#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/format.hpp"
#include "profile/machine_json.hpp"
#include "profile/profile.hpp"
#include "spec/fields.hpp"

namespace nereus::profile {

using spec::Like;
using spec::Reader;

namespace {

constexpr double kLongestTime = 3600;  // seconds of one layer
constexpr double kWidest = 1e6;        // seconds of an interval, which may be longer than its time
constexpr double kMostBytes = 1e15;    // of one layer
constexpr double kMostSamples = 1e9;   // of a micro-batch
constexpr double kMostParameters = 1e15;
constexpr int kMostTokens = 1 << 30;
constexpr int kMostProfileRanks = 1 << 20;
constexpr double kUnbounded = Reader::kInfinity;  // what a check of its own says more about

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
         fmt::format("{} has {} for {}", key, counted(values.size(), "value"),
                     counted(wanted, "number of samples", "numbers of samples")),
         "one value for each of samples");
  for (const double value : values)
    if (!(value > 0) || !(value <= most))
      fail(key, "profile.value",
           fmt::format("{} is {}, and must be above 0 and at most {}", what, value, most),
           "remove the layer if it was not measured");
}

// The quantiles of the repeats, if known, must be on both sides of the median.
template <class Fail>
void check_ranges(const std::vector<double>& median, const std::vector<double>& low,
                  const std::vector<double>& high, const char* what, const Fail& fail) {
  if (low.empty() && high.empty()) return;
  const std::string key = fmt::format("{}_low_s", what);
  if (low.size() != median.size() || high.size() != median.size()) {
    fail(key.c_str(), "profile.length",
         fmt::format("{} low and {} of {}", low.size(), counted(high.size(), "high value"),
                     counted(median.size(), fmt::format("{} time", what))),
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
         fmt::format("an interval over {}; one takes at least two",
                     counted(processes, "process", "processes")),
         "\"processes\": 5, or leave it out");
  if (half_widths.size() != times.size())
    fail(key.c_str(), "profile.length",
         fmt::format("{} of {}", counted(half_widths.size(), "half width"),
                     counted(times.size(), fmt::format("{} time", what))),
         "one for each of samples");
  for (const double own : half_widths)
    if (!(own >= 0 && own <= kWidest))
      fail(key.c_str(), "profile.value",
           fmt::format("a half width is {}, and must be 0 to {:g}", own, kWidest),
           "remove it if it is unknown");
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
           fmt::format("{} after {}", counted(fmt::format("{}", layer.samples[i]), "sample"),
                       layer.samples[i - 1]),
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
           fmt::format("more samples take less time: a non-decreasing curve would be off by a "
                       "factor of {:.3g}, but noise explains at most {:g}",
                       repaired.most, kMostNoise),
           "measure again, or remove the point");
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

}  // namespace

template <class V>
void visit_fields(V& v, Like<Origin> auto& origin) {
  v("source", origin.source);
  v("licence", origin.licence);
  v("date", origin.date);
  v("library", origin.library);
  v("driver", origin.driver);
}

template <class V>
void visit_fields(V& v, Like<MeasuredLayer> auto& l) {
  v.needed("model", l.model);
  v.needed("role", l.role);
  v("layer", l.layer);
  v("hidden", l.hidden, 0, kMostTokens);
  v("seq", l.seq, 1, kMostTokens);
  v("elements", l.elements, 1, kMostParameters);
  v("parameters", l.parameters, 0, kMostParameters);
  v.needed("device", l.device);
  v.needed("precision", l.precision);
  v.needed("tp", l.tp, 1, kMostProfileRanks);
  v.always("includes_collectives", l.includes_collectives);
  v.always("includes_launches", l.includes_launches);
  v("includes_rest", l.includes_rest);
  v("fitted_line", l.fitted);
  v.needed("samples", l.samples);
  v.needed("forward_s", l.forward);
  v("backward_s", l.backward);
  v("forward_low_s", l.forward_low);
  v("forward_high_s", l.forward_high);
  v("backward_low_s", l.backward_low);
  v("backward_high_s", l.backward_high);
  v("processes", l.processes, 1, kMostProcesses);
  v("forward_half_width_s", l.forward_half_width);
  v("backward_half_width_s", l.backward_half_width);
  v("update_s", l.update, -kUnbounded, kUnbounded);
  v("memory_bytes", l.memory, -kUnbounded, kUnbounded);
  v.check([&](Reader& r) {
    if (r.has("update_s") && !(l.update > 0 && l.update <= kLongestTime))
      r.fail("update_s", "profile.value",
             fmt::format("an update takes {} s, but must take more than 0 and at most {}", l.update,
                         kLongestTime),
             "remove update_s if it was not measured");
    if (r.has("memory_bytes") && !(l.memory > 0 && l.memory <= kMostBytes))
      r.fail("memory_bytes", "profile.value",
             fmt::format("a sample keeps {} B, but must keep more than 0 and at most {:g}",
                         l.memory, kMostBytes),
             "remove memory_bytes if it was not measured");
    check_layer(l, [&](const char* key, std::string code, std::string message, std::string hint) {
      r.fail(key, std::move(code), std::move(message), std::move(hint));
    });
  });
}

Profile parse_profile(std::string_view text, const std::string& file) {
  ErrorList errors;
  const spec::Value root = spec::parse_json(text, file);
  Reader r(root, errors, spec::Units::kRawSi);
  const int version = r.required_int("schema_version", 1);
  if (r.has("schema_version") && version != kProfileSchemaVersion)
    r.fail("schema_version", "profile.schema-version",
           fmt::format("this profile has schema_version {}, and this program reads version {}",
                       version, kProfileSchemaVersion),
           "write it again with nereus import");
  errors.throw_if_any();
  Profile profile;
  Reader origin = r.optional_table("origin");
  spec::take_fields(origin, profile.origin);
  profile.notes = r.optional_strings("notes");
  profile.machine = read_machine(r);
  // A machine may be measured without any model.
  std::vector<Reader> layers =
      profile.machine.empty() ? r.required_tables("layers") : r.optional_tables("layers");
  Twins twins;
  for (Reader& layer : layers) {
    MeasuredLayer& own = profile.layers.emplace_back();
    spec::take_fields(layer, own);
    if (twins.seen(own))
      layer.fail("model", "profile.twice", fmt::format("{} is there twice", name_of(own)),
                 "one entry for each layer, device, precision and tp");
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
  spec::Table head;
  head.emplace_back("schema_version", spec::put_value(kProfileSchemaVersion));
  head.emplace_back("origin", spec::put_value(profile.origin));
  head.emplace_back("notes", spec::put_value(profile.notes));
  // A line a layer: files are long, and differences are read by layer.
  const std::string line = spec::to_json({.data = std::move(head)});
  std::string text = nlohmann::ordered_json::parse(line).dump(1);
  text.erase(text.rfind('}'));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  text += machine_members(profile.machine);
  text += ",\n \"layers\": [";
  for (const MeasuredLayer& layer : profile.layers)
    text += (&layer == profile.layers.data() ? "\n  " : ",\n  ") +
            spec::to_json(spec::put_value(layer));
  return text + "\n ]\n}\n";
}

}  // namespace nereus::profile
