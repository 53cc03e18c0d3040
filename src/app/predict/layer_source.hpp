// Where a plan's layers have their times from, where profiles were given
// (app/predict/profiles.hpp).
#pragma once

#include <string>
#include <string_view>

namespace nereus::app {

// Where the times of one kind of layer come from, on one kind of device.
struct LayerSource {
  enum class Kind { kMeasured, kExtrapolated, kModelled };
  std::string layer{};
  std::string device{};
  int tp = 1;
  double samples = 1;  // of a micro-batch
  Kind kind = Kind::kModelled;
  double low = 0, high = 0;  // samples that were measured; 0 where none were
  std::string why{};         // of what is not measured as it is
  bool operator==(const LayerSource&) const = default;
};
std::string_view to_string(LayerSource::Kind kind);

}  // namespace nereus::app
