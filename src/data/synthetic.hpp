// Samples generated from (seed, g): no download, the same on every machine, and with a pattern that
// can be learned.
//
// Tokens walk over a fixed random graph: token t is followed by one of four tokens, the j-th with
// probability 1/2, 1/4, 1/8, 1/8. These four are a hash of (seed, t, j), cubed so that small
// numbers are frequent, like common words. A model that has learned the graph reaches a loss of at
// most 7/4 ln 2 = 1.213 nats per token; one that has learned nothing has ln(vocabulary).
//
// An image is the pattern of its class, blocks of 1/8 of its width with values in [-1, 1), plus
// noise with the same range.
//
//   SyntheticTokens samples(vocabulary, seq, seed);
//   samples.read(g, {.tokens = tokens});
#pragma once

#include <cstdint>

#include "data/sample_source.hpp"

namespace nereus::data {

inline constexpr double kSyntheticTokenLoss = 1.2130075659799042;  // 7/4 ln 2

class SyntheticTokens : public SampleSource {
 public:
  SyntheticTokens(std::int64_t vocabulary, std::int64_t seq, std::uint64_t seed);

  SampleShape shape() const override { return {.num_tokens = seq_ + 1}; }
  std::uint64_t samples_per_epoch() const override { return 0; }
  void read(std::uint64_t g, const SampleView& into) const override;

  // The token that follows `token` in branch 0 ... 3.
  std::int64_t successor(std::int64_t token, int branch) const;

 private:
  std::int64_t vocabulary_;
  std::int64_t seq_;
  std::uint64_t seed_;
};

class SyntheticImages : public SampleSource {
 public:
  SyntheticImages(std::int64_t num_classes, std::int64_t size, std::uint64_t seed);

  SampleShape shape() const override { return {.num_pixels = 3 * size_ * size_}; }
  std::uint64_t samples_per_epoch() const override { return 0; }
  void read(std::uint64_t g, const SampleView& into) const override;

 private:
  std::int64_t num_classes_;
  std::int64_t size_;
  std::uint64_t seed_;
};

}  // namespace nereus::data
