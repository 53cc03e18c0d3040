// An accelerator as its data sheet gives it. Peaks are dense (no structured sparsity); zero means the device
// does not have that precision.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <optional>

#include "base/units.hpp"

namespace nereus::cluster {

enum class Precision { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kMxfp8, kNvfp4 };
inline constexpr int kNumPrecisions = 8;

std::string_view to_string(Precision precision);
std::optional<Precision> parse_precision(std::string_view text);  // canonical names only

struct Device {
  std::string name;        // data-sheet name: "A100 SXM4 80GB"
  std::string short_name;  // canonical: "A100-SXM-80GB"
  Bytes memory{};
  BytesPerSecond memory_bandwidth{};
  std::array<FlopsPerSecond, kNumPrecisions> peak{};
  BytesPerSecond host_link{};  // to host memory, one way
  Watts power{};
  int num_units = 0;  // streaming multiprocessors or their like; 0 = unknown
  std::string source;
  bool has(Precision p) const { return peak[static_cast<size_t>(p)].value > 0; }
  FlopsPerSecond peak_of(Precision p) const { return peak[static_cast<size_t>(p)]; }
  bool operator==(const Device&) const = default;
};

}  // namespace nereus::cluster
