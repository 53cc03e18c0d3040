#include "profile/layer_times.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace nereus::profile {

namespace {

[[noreturn]] void no_such(const char* what, const std::string& wanted,
                          const std::vector<std::string>& known) {
  const std::optional<std::string> near = nearest(wanted, known);
  throw_input_error(
      "profile.missing", fmt::format("the profile has no {} {}", what, wanted), {},
      near ? "the nearest it has is " + *near : std::string("another model, device or precision"));
}

}  // namespace

Repaired monotone(const Curve& measured) {
  Repaired out{measured, 0};
  for (std::size_t i = 1; i < out.curve.points.size(); ++i)
    if (out.curve.points[i] < out.curve.points[i - 1]) {
      out.curve.points[i] = out.curve.points[i - 1];
      ++out.raised;
    }
  return out;
}

const LayerTimes& LayerProfile::times_of(std::string_view model, std::string_view device, int seq,
                                         std::string_view precision) const {
  const auto name = [](const auto& m, const auto& d, int s, const auto& p) {
    return fmt::format("{} on {}, {} tokens, {}", m, d, s, p);
  };
  std::vector<std::string> known;
  for (const LayerTimes& t : times) {
    if (t.model == model && t.device == device && t.seq == seq && t.precision == precision)
      return t;
    known.push_back(name(t.model, t.device, t.seq, t.precision));
  }
  no_such("times of", name(model, device, seq, precision), known);
}

const ComputeMemory& LayerProfile::memory_of(std::string_view setting, std::string_view model,
                                             std::string_view precision) const {
  std::vector<std::string> known;
  for (const ComputeMemory& m : memory) {
    if (m.setting == setting && m.model == model && m.precision == precision) return m;
    known.push_back(fmt::format("{} of {}, {}", m.model, m.setting, m.precision));
  }
  no_such("memory of", fmt::format("{} of {}, {}", model, setting, precision), known);
}

}  // namespace nereus::profile
