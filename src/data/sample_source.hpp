// Defines the g-th sample and its content. Samples of a step are numbered only by step and
// position, g = step * global_batch + position, and the content depends only on (seed, g). So every
// plan, on any number of ranks, trains on the same data in the same order, and a resumed run
// continues with the right samples.
//
//   TokenFileSamples samples(file, seq, vocabulary, {.seed = 1});
//   std::vector<std::int64_t> tokens(samples.shape().num_tokens);   // seq + 1
//   samples.read(step * global_batch + position, {.tokens = tokens});
//
// A token file is cut into windows: window w has tokens w * seq ... w * seq + seq, so that
// neighbors share one token, and each token except the first is a target once per epoch. Inputs are
// the first seq tokens of a window, targets the last seq. Tokens after the last whole window are
// dropped. Windows may span documents, as in nanoGPT and Megatron-LM.
//
// An epoch uses every window once, in a separate order per epoch (Permutation), or one after the
// other without shuffling.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/token_file.hpp"

namespace nereus::data {

// A permutation of 0 ... count - 1 that is computed instead of stored: a Feistel network with six
// rounds over the smallest even number of bits for count, applied again while its value is too
// large (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). On average, fewer than
// four applications are needed. Each round mixes with splitmix64.
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t seed);
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  static constexpr int kNumRounds = 6;
  std::uint64_t count_;
  int half_bits_;
  std::uint64_t keys_[kNumRounds];
};

struct SampleOrder {
  std::uint64_t seed = 0;
  bool shuffle = true;
};

// The item (of `count`) that is the g-th sample: item permutation(seed, g / count)(g % count).
std::uint64_t item_of_sample(std::uint64_t g, std::uint64_t count, const SampleOrder& order);

// The size of a sample. Token models have no pixels, image models no tokens.
struct SampleShape {
  std::int64_t num_tokens = 0;  // seq + 1
  std::int64_t num_pixels = 0;  // 3 * size * size, channel by channel, row by row
  bool operator==(const SampleShape&) const = default;
};

// The destination of a sample; spans have the sizes of the shape.
struct SampleView {
  std::span<std::int64_t> tokens = {};
  std::span<float> pixels = {};
  std::int64_t* label = nullptr;  // for images; may be nullptr
};

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual SampleShape shape() const = 0;
  virtual std::uint64_t samples_per_epoch() const = 0;  // 0 = samples never repeat
  // May be called by several threads at a time. Throws Errors if the data are damaged.
  virtual void read(std::uint64_t g, const SampleView& into) const = 0;
  // The file of the sample; empty = none.
  virtual std::string file_of(std::uint64_t /*g*/) const { return {}; }
};

class TokenFileSamples : public SampleSource {
 public:
  // Throws what check_tokens throws. Tokens are also checked against the vocabulary when they are
  // read.
  TokenFileSamples(TokenFile file, std::int64_t seq, std::int64_t vocabulary, SampleOrder order);

  SampleShape shape() const override { return {.num_tokens = seq_ + 1}; }
  std::uint64_t samples_per_epoch() const override { return num_windows_; }
  void read(std::uint64_t g, const SampleView& into) const override;
  std::string file_of(std::uint64_t) const override { return file_.info().path; }
  const TokenFile& file() const { return file_; }

 private:
  TokenFile file_;
  std::int64_t seq_;
  std::int64_t vocabulary_;
  SampleOrder order_;
  std::uint64_t num_windows_;
};

}  // namespace nereus::data
