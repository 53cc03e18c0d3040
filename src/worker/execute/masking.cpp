#include "worker/execute/masking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/random.hpp"

namespace nereus::worker {

std::int64_t mask_token(std::int64_t vocabulary) {
  return vocabulary == 30522 || vocabulary == 28996 ? 103 : vocabulary - 1;
}

Batch hide_words(const at::Tensor& tokens, const model::TransformerShape& shape, std::uint64_t seed,
                 std::int64_t step, std::int64_t first_sample) {
  const std::int64_t n = tokens.size(0), s = tokens.size(1);
  const std::int64_t m = model::masked_positions(shape.seq);
  Batch batch;
  batch.inputs = tokens.contiguous().clone();
  batch.positions = at::empty({n, m}, at::kLong);
  std::vector<std::int64_t> places(static_cast<std::size_t>(s));
  for (std::int64_t i = 0; i < n; ++i) {
    Random random(hash_of(fmt::format("mask.{}.{}", step, first_sample + i), seed));
    std::iota(places.begin(), places.end(), 0);
    random.shuffle(places);
    std::sort(places.begin(), places.begin() + m);
    auto* words = batch.inputs[i].data_ptr<std::int64_t>();
    auto* positions = batch.positions[i].data_ptr<std::int64_t>();
    for (std::int64_t j = 0; j < m; ++j) {
      const std::int64_t place = positions[j] = places[j];
      const double becomes = random.uniform();
      const std::uint64_t other = random.below(static_cast<std::uint64_t>(shape.vocab));
      if (becomes < 0.8)
        words[place] = mask_token(shape.vocab);
      else if (becomes < 0.9)
        words[place] = static_cast<std::int64_t>(other);
    }
  }
  batch.targets = tokens.gather(1, batch.positions);
  return batch;
}

}  // namespace nereus::worker
