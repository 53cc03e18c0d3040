// How many samples one core prepares in a second: the same calls that a loader's thread makes
// (data/loader.hpp), one after the other, from files that lie in the page cache.
//
//   const PrepareTimes images = prepare_times(source, 5, 0.2);
//   images.seconds_per_sample;                       // of each repeat
//
// Files to prepare from, where the user has none: windows of a token file, and pictures of 500 x
// 375 pixels as PPM, which costs scaling but no decompression.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/sample_source.hpp"

namespace nereus::data {

struct PrepareTimes {
  std::vector<double> seconds_per_sample{};
};

// Each repeat prepares samples for at least so long.
PrepareTimes prepare_times(const SampleSource& source, int repeats, double least_seconds);

// In a folder that is there: a token file of 1,024 tokens a sample, a folder of pictures.
std::shared_ptr<const SampleSource> made_up_tokens(const std::string& folder);
std::shared_ptr<const SampleSource> made_up_pictures(const std::string& folder);
inline constexpr double kMadeUpTokenBytes = 2 * 1025.0;
inline constexpr double kMadeUpPictureBytes = 3 * 500 * 375.0;

}  // namespace nereus::data
