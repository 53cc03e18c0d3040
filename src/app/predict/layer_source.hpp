// The source of the times of a plan's layers, if profiles were given (app/predict/profiles.hpp).
#pragma once

#include <string>
#include <string_view>

namespace nereus::app {

// The source of the times of one kind of layer on one kind of device.
struct LayerSource {
  enum class Kind { kMeasured, kExtrapolated, kModelled };
  std::string layer{};
  std::string device{};
  int tp = 1;
  double samples = 1;  // per micro-batch
  Kind kind = Kind::kModelled;
  double low = 0, high = 0;  // range of measured samples; 0 if there are none
  std::string why{};         // why the time is not a measured one
  bool operator==(const LayerSource&) const = default;
};
std::string_view to_string(LayerSource::Kind kind);

}  // namespace nereus::app
