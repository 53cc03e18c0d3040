// An accelerator as its data sheet gives it. Peaks are dense (no structured sparsity), of the
// matrix units where the device has them for that precision; zero means the device does not have
// the precision.
//
//   const Device* a100 = builtin_catalogue().find_device("A100-80GB");   // cluster/catalogue.hpp
//   if (a100->has(Precision::kBf16)) t = flops / a100->peak_of(Precision::kBf16);
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace nereus::cluster {

enum class Precision { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kMxfp8, kNvfp4 };
inline constexpr int kNumPrecisions = 8;

std::string_view to_string(Precision precision);
std::optional<Precision> parse_precision(std::string_view text);  // canonical names only

struct Device {
  std::string name;        // data-sheet name: "A100 SXM4 80GB"
  std::string short_name;  // canonical: "A100-SXM-80GB"
  Bytes memory{};          // nominal: makers' GB are GiB (an 80 GB part holds 80 GiB)
  Bytes usable_memory{};   // what a program finds on an idle device; 0 = not known
  BytesPerSecond memory_bandwidth{};
  std::array<FlopsPerSecond, kNumPrecisions> peak{};
  BytesPerSecond host_link{};  // to host memory, one way; 0 = not known
  Watts power{};               // 0 = not known
  int num_units = 0;           // streaming multiprocessors or their like; 0 = not known
  std::string source;

  bool has(Precision p) const { return peak[p].value > 0; }
  FlopsPerSecond peak_of(Precision p) const { return peak[p]; }
  Bytes capacity() const { return usable_memory.value > 0 ? usable_memory : memory; }
  bool operator==(const Device&) const = default;
};

}  // namespace nereus::cluster
