// Measures how many samples one core prepares per second: it makes the same calls as a loader's
// thread (data/loader.hpp), one after the other, from files in the page cache.
//
//   const PrepareTimes images = prepare_times(source, 5, 0.2);
//   images.seconds_per_sample;                       // one per repeat
//
// Generates files if the user has none: a token file, and images of 500 x 375 pixels as PPM, which
// need scaling but no decompression.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/sample_source.hpp"

namespace nereus::data {

struct PrepareTimes {
  std::vector<double> seconds_per_sample{};
};

// Each repeat prepares samples for at least `least_seconds`.
PrepareTimes prepare_times(const SampleSource& source, int repeats, double least_seconds);

// In an existing folder: a token file with samples of 1,024 tokens, and a folder of images.
std::shared_ptr<const SampleSource> made_up_tokens(const std::string& folder);
std::shared_ptr<const SampleSource> made_up_pictures(const std::string& folder);
inline constexpr double kMadeUpTokenBytes = 2 * 1025.0;
inline constexpr double kMadeUpPictureBytes = 3 * 500 * 375.0;

}  // namespace nereus::data
