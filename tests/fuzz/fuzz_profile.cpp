// Measured layers: our own form, which comes back the same; and other people's, with and without
// their sizes. What is accepted has a time for any micro-batch that never falls, and numbers of the
// machine that are in order.
#include <cmath>

#include "fuzz.hpp"
#include "profile/import_file.hpp"

namespace nereus::profile {
namespace {

constexpr const char* kSizes = R"({"OPT": {"1": {
  "0": {"params_floats": 5000, "params_bytes": 20000, "act_output_floats": 640},
  "1": {"params_floats": 1000, "params_bytes": 4000, "act_output_floats": 640},
  "2": {"params_floats": 4900, "params_bytes": 19600, "act_output_floats": 9000}}}})";

void check(const Profile& profile) {
  NEREUS_CHECK(!profile.layers.empty() || !profile.machine.empty(), "a profile of nothing");
  for (const Kernel& own : profile.machine.kernels)
    NEREUS_CHECK(own.seconds.median > 0 && ranges_meet(own.seconds, own.seconds), "quantiles");
  for (const Kernel& own : profile.machine.kernels)
    NEREUS_CHECK(!own.seconds.has_interval() ||
                     std::isfinite(joint_half_width(own.seconds, own.seconds, 0.999)),
                 "an interval");
  for (const Collective& own : profile.machine.collectives)
    NEREUS_CHECK(own.seconds.median > 0 && own.ranks >= own.hosts, "a collective");
  for (const MeasuredLayer& layer : profile.layers) {
    const RepairedCurve forward = curve_of(layer.samples, layer.forward);
    NEREUS_CHECK(forward.most <= kMostNoise, "more than noise");
    double last = 0;
    for (const double s : {0.5, 1.0, 1.5, 3.0, 1000.0}) {
      const double seconds = forward.curve.at(s);
      NEREUS_CHECK(std::isfinite(seconds) && seconds >= last * (1 - 1e-9) && seconds > 0,
                   "a time that falls");
      last = seconds;
    }
  }
  const std::string text = profile_to_json(profile);
  NEREUS_CHECK(parse_profile(text, "again") == profile, "a profile changes");
}

}  // namespace
}  // namespace nereus::profile

NEREUS_FUZZER(profile)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  using namespace nereus::profile;
  fuzz(data, size, [](std::string_view text) { check(parse_profile(text, "p.json")); });
  return fuzz(data, size, [](std::string_view text) {
    check(import_profiles({{"OPT/A100-40/profile.json", std::string(text)}, {"s.json", kSizes}}));
  });
}
