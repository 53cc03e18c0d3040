// An accelerator with the numbers of its data sheet. Peaks are dense (without structured sparsity),
// and those of the matrix units if the device has them for that precision; zero means that the
// device does not support the precision.
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

// kInt8: GEMM operands are scaled to 8-bit integers, as fp8 recipes scale them to 8-bit floats
// (AQT on TPUs); weights and activations are stored in 16 bits.
enum class Precision { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kMxfp8, kNvfp4, kInt8 };
inline constexpr int kNumPrecisions = 9;

std::string_view to_string(Precision precision);
std::optional<Precision> parse_precision(std::string_view text);  // canonical names only

struct Device {
  std::string name;        // data-sheet name: "A100 SXM4 80GB"
  std::string short_name;  // canonical: "A100-SXM-80GB"
  Bytes memory{};          // nominal: vendors' GB are GiB (an 80 GB part has 80 GiB)
  Bytes usable_memory{};   // what a program can use on an idle device; 0 = unknown
  BytesPerSecond memory_bandwidth{};
  std::array<FlopsPerSecond, kNumPrecisions> peak{};
  BytesPerSecond host_link{};  // to host memory, one way; 0 = unknown
  Watts power{};               // 0 = unknown
  int num_units = 0;           // streaming multiprocessors or similar; 0 = unknown
  std::string source;

  bool has(Precision p) const { return peak[static_cast<std::size_t>(p)].value > 0; }
  FlopsPerSecond peak_of(Precision p) const { return peak[static_cast<std::size_t>(p)]; }
  Bytes capacity() const { return usable_memory.value > 0 ? usable_memory : memory; }
  bool operator==(const Device&) const = default;
};

}  // namespace nereus::cluster
