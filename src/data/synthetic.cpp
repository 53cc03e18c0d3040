#include "data/synthetic.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "base/random.hpp"

namespace nereus::data {

namespace {

// 32 random bits, decided by the three numbers.
std::uint64_t hash(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t state = seed ^ (a * 0xD1342543DE82EF95u);
  state = splitmix64(state) ^ b;
  return splitmix64(state) >> 32;
}

// [-1, 1) from 32 bits.
float centred(std::uint64_t bits) { return static_cast<float>(bits >> 8) * 0x1p-23F - 1.0F; }

}  // namespace

SyntheticTokens::SyntheticTokens(std::int64_t vocabulary, std::int64_t seq, std::uint64_t seed)
    : vocabulary_(vocabulary), seq_(seq), seed_(seed) {
  NEREUS_CHECK(vocabulary > 0 && vocabulary <= std::int64_t{1} << 31 && seq > 0,
               "no tokens to make up");
}

std::int64_t SyntheticTokens::successor(std::int64_t token, int branch) const {
  const std::uint64_t u =
      hash(seed_, static_cast<std::uint64_t>(token), static_cast<std::uint64_t>(branch));
  const std::uint64_t cubed = ((u * u) >> 32) * u >> 32;
  return static_cast<std::int64_t>((cubed * static_cast<std::uint64_t>(vocabulary_)) >> 32);
}

void SyntheticTokens::read(std::uint64_t g, const SampleView& into) const {
  NEREUS_CHECK(into.tokens.size() == static_cast<std::size_t>(seq_) + 1, "room for one sample");
  Random random = Random(seed_).stream(g);
  auto token = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(vocabulary_)));
  for (std::int64_t& place : into.tokens) {
    place = token;
    const int branch = std::min(std::countr_zero(random.next()), 3);  // 1/2, 1/4, 1/8, 1/8
    token = successor(token, branch);
  }
}

SyntheticImages::SyntheticImages(std::int64_t num_classes, std::int64_t size, std::uint64_t seed)
    : num_classes_(num_classes), size_(size), seed_(seed) {
  NEREUS_CHECK(num_classes > 0 && size > 0, "no images to make up");
}

void SyntheticImages::read(std::uint64_t g, const SampleView& into) const {
  NEREUS_CHECK(into.pixels.size() == static_cast<std::size_t>(shape().num_pixels),
               "room for one sample");
  constexpr std::int64_t kBlocks = 8;  // along a side
  Random random = Random(seed_).stream(g);
  const std::uint64_t label = random.below(static_cast<std::uint64_t>(num_classes_));
  if (into.label != nullptr) *into.label = static_cast<std::int64_t>(label);
  float* pixel = into.pixels.data();
  for (std::int64_t channel = 0; channel < 3; ++channel)
    for (std::int64_t y = 0; y < size_; ++y) {
      const std::int64_t row = (channel * kBlocks + y * kBlocks / size_) * kBlocks;
      for (std::int64_t block = 0, x = 0; block < kBlocks; ++block) {
        const float colour = centred(hash(seed_, label, static_cast<std::uint64_t>(row + block)));
        for (; x * kBlocks / size_ == block; ++x) *pixel++ = colour + centred(random.next() >> 32);
      }
    }
}

}  // namespace nereus::data
