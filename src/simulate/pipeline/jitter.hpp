// Durations that vary: passes and messages take longer or shorter from step to step, and some ranks
// are always slow.
//
//   none                 t
//   normal:5%            t (1 + 0.05 z), z standard normal; normal:2ms adds 2 ms z for any t
//   delay:10ms           t + 10 ms |z|: never early, 8.0 ms late on average (10 ms sqrt(2 / pi))
//   lognormal:0.1        t exp(0.1 z - 0.1^2 / 2): its mean is t
//   measured:FILE        t times a factor from the file, all with equal probability
//   slow RANK:FACTOR     all compute times of that lane (a pipeline rank of one replica) are
//                        multiplied by the factor before they vary
//
// A duration is never below 0: a normal distribution is cut off at 0, which raises its mean by less
// than 1e-6 of t up to a spread of 24 %, by 0.4 % at 50 %, and by 8 % at 100 %. Factors from a file
// are used as they are, whatever their mean.
//
// The random number of a duration is a hash of (seed, step, replica, pass or message): the n-th
// number of a splitmix64 stream (base/random.hpp). It does not depend on earlier draws, so any
// order of simulation and any number of threads give the same result. The normal quantile is
// Wichura's AS 241 (1988), accurate to 1e-15.
//
//   Jitter jitter{.compute = parse_distribution("normal:5%"), .seed = 7};
//   const Draws draws(jitter, /*step=*/3, /*replica=*/0);
//   draws.compute(lane, key, picoseconds(0.1));
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "simulate/pipeline/passes.hpp"

namespace nereus::simulate {

using Picoseconds = std::int64_t;

struct Distribution {
  enum class Kind { kNone, kNormal, kDelay, kLogNormal, kMeasured };
  Kind kind = Kind::kNone;
  double relative = 0;  // normal, delay: standard deviation of the term with z, as share of t
  double seconds = 0;   // normal, delay: standard deviation in seconds; both may be given
  double sigma = 0;     // log-normal
  std::vector<double> factors = {};  // measured; must not be empty then
  bool operator==(const Distribution&) const = default;
};

struct SlowRank {
  int rank = 0;  // number of a lane: d p + r is pipeline rank r of p in replica d
  double factor = 1;
  bool operator==(const SlowRank&) const = default;
};

struct Jitter {
  Distribution compute = {};
  Distribution link = {};
  std::vector<SlowRank> slow = {};
  std::uint64_t seed = 1;
  bool operator==(const Jitter&) const = default;
};

// Parses the forms above. Errors: "simulate.jitter", and those of the file.
Distribution parse_distribution(std::string_view text);
SlowRank parse_slow_rank(std::string_view text);
// A measured distribution gives "measured (12 factors)".
std::string to_text(const Distribution& distribution);
std::string to_text(const SlowRank& slow);

// The x such that z is below x with probability u, 0 < u < 1.
double normal_quantile(double u);

// The duration drawn for `t` with these random bits.
Picoseconds vary(const Distribution& distribution, std::uint64_t bits, Picoseconds t);

// A unique number per pass or message. Supports up to 2^24 micro-batches and 2^32 stages.
constexpr std::uint64_t draw_key(const PipelineOp& op) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(op.stage)) << 32) |
         (static_cast<std::uint64_t>(static_cast<std::uint32_t>(op.micro_batch)) << 8) |
         static_cast<std::uint64_t>(op.pass);
}

// The draws of one replica in one step. Keeps a pointer to the jitter.
class Draws {
 public:
  // `first_lane` is the lane number (SlowRank::rank) of the replica's pipeline rank 0. If
  // `together` replicas wait for each other at every pass, a draw is the maximum over these
  // replicas, whose lane numbers are `apart` apart.
  Draws(const Jitter& jitter, std::uint64_t step, std::uint64_t replica, int first_lane = 0,
        int together = 1, int apart = 0);

  Picoseconds compute(int pipeline_rank, std::uint64_t key, Picoseconds t) const {
    Picoseconds longest = one(compute_, first_lane_ + pipeline_rank, key, t);
    for (int other = 1; other < together_; ++other)
      longest = std::max(longest, one(compute_ + static_cast<std::uint64_t>(other) * kOther,
                                      first_lane_ + other * apart_ + pipeline_rank, key, t));
    return longest;
  }
  Picoseconds link(std::uint64_t key, Picoseconds t) const {
    return vary(jitter_->link, bits(link_, key), t);
  }

 private:
  static constexpr std::uint64_t bits(std::uint64_t stream, std::uint64_t key) {
    std::uint64_t state = stream ^ (key * 0xD1342543DE82EF95u);  // odd, so two keys never collide
    return splitmix64(state);
  }

  static constexpr std::uint64_t kOther = 0x9FB21C651E98DF25u;  // odd: other replicas' streams

  Picoseconds one(std::uint64_t stream, int lane, std::uint64_t key, Picoseconds t) const {
    for (const SlowRank& slow : jitter_->slow)
      if (slow.rank == lane)
        // NOLINTNEXTLINE(bugprone-incorrect-roundings): a count far below 2^52
        t = static_cast<Picoseconds>(static_cast<double>(t) * slow.factor + 0.5);
    return vary(jitter_->compute, bits(stream, key), t);
  }

  const Jitter* jitter_;
  int first_lane_;
  int together_;
  int apart_;
  std::uint64_t compute_ = 0;  // streams
  std::uint64_t link_ = 0;
};

}  // namespace nereus::simulate
