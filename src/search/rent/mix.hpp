// Two kinds of machines rented together: of every pair of offers of one place (provider and
// region), at every two numbers of a list, the one that does better than all others and than a
// choice of one kind, exactly.
//
//   usd = hours (n1 usd_per_hour1 + n2 usd_per_hour2)
//
// The hours of a mix are known by a search of its own (search/mixed) and dear. No plan is quicker
// than all devices at the best rate that each reaches by itself (search/mixed/machines.hpp), and
// that rate is not above their peak's, which is known for nothing:
//
//   hours >= start-up + 1 / (n1 rate1 + n2 rate2)         rate: whole jobs an hour, one machine
//
// So a mix costs at least as much a sample as the better of its two does at that rate: it can be
// cheaper than both only where a number of one kind falls short of its own rate (it scales badly,
// or what fits is slow). Mixes are taken in the order of the least they could cost, a few at a
// time; the first that could not be better ends it. The answer is the same at any number of
// threads.
//
//   Mixed m = best_mix(offers, {1, 2, 4}, terms, best_single, hours);
//   if (m.best) m.best->usd;
#pragma once

#include "search/rent/rent.hpp"

namespace nereus::rent {

struct MixOffer {
  int place = 0;            // only offers of one place are mixed
  double usd_per_hour = 0;  // of one machine
  double peak_rate = 0;     // jobs an hour that one machine does not exceed
  // The same, closer and dearer to know; asked at most once, from one thread.
  std::function<double()> rate;
};

struct Mix {
  int first = 0, second = 0;  // offers
  int num_first = 0, num_second = 0;
  double hours = 0;
  double usd = 0;
  bool operator==(const Mix&) const = default;
};

struct Mixed {
  std::optional<Mix> best;
  int planned = 0;  // whose hours were asked for
  int cut = 0;
  int left_out = 0;  // that might have been better, after so many planned
};

// `beat`: what one kind does; where there is none, any mix that meets the terms will do. `hours` is
// asked from several threads: start-up included, kNever where nothing fits or within `limit`. At
// most `most` mixes are planned, those that could cost least; so it is exact where none is left
// out.
Mixed best_mix(const std::vector<MixOffer>& offers, const std::vector<int>& counts,
               const Terms& terms, const std::optional<Choice>& beat,
               const std::function<double(const Mix& mix, double limit)>& hours,
               int most = std::numeric_limits<int>::max());

}  // namespace nereus::rent
