#include "cluster/device.hpp"

namespace nereus::cluster {

namespace {
constexpr std::array<std::string_view, kNumPrecisions> kPrecisionNames = {
    "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4", "int8"};
}

std::string_view to_string(Precision precision) {
  const auto i = static_cast<size_t>(precision);
  return i < kPrecisionNames.size() ? kPrecisionNames[i] : "?";
}

std::optional<Precision> parse_precision(std::string_view text) {
  for (size_t i = 0; i < kPrecisionNames.size(); ++i)
    if (kPrecisionNames[i] == text) return static_cast<Precision>(i);
  return std::nullopt;
}

}  // namespace nereus::cluster
