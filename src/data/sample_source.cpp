#include "data/sample_source.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"

namespace nereus::data {

Permutation::Permutation(std::uint64_t count, std::uint64_t seed) : count_(count) {
  NEREUS_CHECK(count > 0, "a permutation of nothing");
  half_bits_ = (static_cast<int>(std::bit_width(count - 1)) + 1) / 2;
  for (std::uint64_t& key : keys_) key = splitmix64(seed);
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  if (count_ == 1) return 0;
  const std::uint64_t mask = half_bits_ == 32 ? 0xFFFFFFFFu : (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (const std::uint64_t key : keys_) {
      std::uint64_t mixed = right ^ key;
      left ^= splitmix64(mixed) & mask;
      std::swap(left, right);
    }
    index = left << half_bits_ | right;
  } while (index >= count_);
  return index;
}

std::uint64_t item_of_sample(std::uint64_t g, std::uint64_t count, const SampleOrder& order) {
  const std::uint64_t epoch = g / count;
  const std::uint64_t index = g % count;
  if (!order.shuffle) return index;
  std::uint64_t mixed = epoch;
  return Permutation(count, order.seed ^ splitmix64(mixed))(index);
}

TokenFileSamples::TokenFileSamples(TokenFile file, std::int64_t seq, std::int64_t vocabulary,
                                   SampleOrder order)
    : file_(std::move(file)), seq_(seq), vocabulary_(vocabulary), order_(order) {
  NEREUS_CHECK(seq > 0, "a sample without tokens");
  check_tokens(file_, vocabulary, seq);
  num_windows_ = static_cast<std::uint64_t>((file_.info().num_tokens - 1) / seq);
}

void TokenFileSamples::read(std::uint64_t g, const SampleView& into) const {
  const std::uint64_t window = item_of_sample(g, num_windows_, order_);
  const std::int64_t first = static_cast<std::int64_t>(window) * seq_;
  NEREUS_CHECK(into.tokens.size() == static_cast<std::size_t>(seq_) + 1, "room for one sample");
  file_.read(first, into.tokens);
  for (std::size_t i = 0; i < into.tokens.size(); ++i)
    if (static_cast<std::uint64_t>(into.tokens[i]) >= static_cast<std::uint64_t>(vocabulary_))
      throw_input_error(
          "data.vocabulary",
          fmt::format("token number {} is {}, the model's vocabulary is {}",
                      first + static_cast<std::int64_t>(i), into.tokens[i], vocabulary_),
          {file_.info().path}, "the file is damaged: make it again");
}

}  // namespace nereus::data
