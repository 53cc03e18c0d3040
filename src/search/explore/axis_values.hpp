// The values of an axis in a study file: one value, a list, or ranges in a list.
//
//   nodes = [4, 8, 16]                        network_bandwidth = "25 GB/s..400 GB/s*2"
//   nodes = "8..64+8"                         memory = ["80 GiB", "x1.5", "x2"]
//
// "A..B*F" multiplies by F up to B, "A..B+S" adds S, "A..B" counts up (whole numbers only). "xF" is
// F times the cluster's value. Values keep the order of the file, without duplicates.
#pragma once

#include <string>
#include <vector>

#include "search/explore/study_axis.hpp"
#include "spec/reader.hpp"

namespace nereus::explore {

struct AxisValue {
  double value = 0;
  bool relative = false;  // a factor of the cluster's value
  bool operator==(const AxisValue&) const = default;

  double on(const cluster::Cluster& cluster, Axis axis) const {
    return relative ? value * get(cluster, axis) : value;
  }
};

inline constexpr std::size_t kMostValues = 100'000;  // per axis

// Adds errors to `errors` with their place, and returns the values that could be read.
std::vector<AxisValue> read_axis_values(const spec::Value& value, Axis axis, ErrorList& errors);

// Reads whole numbers by the same rules, for degrees and sizes of models.
std::vector<int> read_whole_values(const spec::Value& value, std::string_view name, int least,
                                   ErrorList& errors);

}  // namespace nereus::explore
