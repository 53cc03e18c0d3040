// Random numbers that are the same for the same seed on every machine and compiler. The standard
// library specifies its engines but not its distributions, so we implement both.
//
//   Random random(seed);
//   random.uniform();        // [0, 1)
//   random.below(6);         // 0 ... 5, without bias
//   Random mine = Random(seed).stream(worker);   // independent of other streams, in any order
//
// The engine is xoshiro256** with its state filled by splitmix64 (Blackman and Vigna, "Scrambled
// linear pseudorandom number generators", 2021). Not cryptographically secure.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "base/error.hpp"

namespace nereus {

// One step of splitmix64: also a good hash of an integer.
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : seed_(seed) {
    for (std::uint64_t& word : state_) word = splitmix64(seed);
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // The upper 53 bits, all that a double can hold.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // 0 <= result < bound. Numbers of the incomplete last range are drawn again, so that the result
  // is uniform.
  constexpr std::uint64_t below(std::uint64_t bound) {
    NEREUS_CHECK(bound > 0, "no number is below 0");
    const std::uint64_t excess = (0 - bound) % bound;  // 2^64 modulo bound
    std::uint64_t number = next();
    while (number < excess) number = next();
    return number % bound;
  }

  // Any permutation with equal probability (Fisher and Yates).
  template <class Container>
  constexpr void shuffle(Container& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  // Another generator, which depends only on the seed and the number, not on earlier draws.
  constexpr Random stream(std::uint64_t number) const {
    std::uint64_t mixed = number;
    return Random(seed_ ^ splitmix64(mixed));
  }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t x, int by) {
    return (x << by) | (x >> (64 - by));
  }

  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace nereus
