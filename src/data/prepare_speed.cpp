#include "data/prepare_speed.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "base/random.hpp"
#include "base/write_file.hpp"
#include "data/image_folder.hpp"
#include "data/token_writer.hpp"

namespace nereus::data {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kVocabulary = 50257, kTokens = 1024, kTokensInFile = 1 << 20;
constexpr int kWidth = 500, kHeight = 375, kPictures = 16;
constexpr std::int64_t kPixels = 224;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

PrepareTimes prepare_times(const SampleSource& source, int repeats, double least_seconds) {
  const SampleShape shape = source.shape();
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(shape.num_tokens));
  std::vector<float> pixels(static_cast<std::size_t>(shape.num_pixels));
  std::int64_t label = 0;
  std::uint64_t g = 0;
  const auto prepare = [&] {
    source.read(g++, {.tokens = tokens, .pixels = pixels, .label = &label});
  };
  for (int i = 0; i < 4; ++i) prepare();  // files come into the page cache
  PrepareTimes times;
  for (int i = 0; i < repeats; ++i) {
    const Clock::time_point start = Clock::now();
    int prepared = 0;
    do {
      prepare();
      ++prepared;
    } while (since(start) < least_seconds);
    times.seconds_per_sample.push_back(since(start) / prepared);
  }
  return times;
}

std::shared_ptr<const SampleSource> made_up_tokens(const std::string& folder) {
  const std::string path = folder + "/made-up.tokens";
  TokenWriter writer(path, {.vocabulary = kVocabulary});
  Random random(1);
  std::vector<std::uint32_t> tokens(static_cast<std::size_t>(kTokensInFile));
  for (std::uint32_t& token : tokens) token = static_cast<std::uint32_t>(random.below(kVocabulary));
  writer.add(tokens);
  writer.end_document();
  writer.finish(0);
  return std::make_shared<TokenFileSamples>(TokenFile::open(path), kTokens, kVocabulary,
                                            SampleOrder{});
}

std::shared_ptr<const SampleSource> made_up_pictures(const std::string& folder) {
  const std::string path = folder + "/made-up-pictures";
  std::filesystem::create_directories(path + "/class");
  Random random(1);
  for (int i = 0; i < kPictures; ++i) {
    std::string picture = fmt::format("P6\n{} {}\n255\n", kWidth, kHeight);
    for (int at = 0; at < 3 * kWidth * kHeight; ++at)
      picture += static_cast<char>(random.next() & 0xFF);
    write_file(fmt::format("{}/class/{}.ppm", path, i), picture);
  }
  return std::make_shared<ImageFolderSamples>(ImageFolder::open(path), kPixels, 1000,
                                              SampleOrder{});
}

}  // namespace nereus::data
