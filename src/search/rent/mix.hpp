// Finds the best mix of two kinds of machines rented together: over every pair of offers in one
// place (provider and region), and every pair of machine counts from a list. The search is exact. A
// mix is returned only if it is better than a given choice of one kind.
//
//   usd = hours (n1 usd_per_hour1 + n2 usd_per_hour2)
//
// A separate search (search/mixed) finds the hours of a mix; it is expensive. No plan is faster
// than all devices together, each at the best rate that it reaches by itself
// (search/mixed/machines.hpp). That rate in turn is at most the rate at peak FLOP/s, which is
// cheap to compute. Either rate bounds the hours:
//
//   hours >= start-up + 1 / (n1 rate1 + n2 rate2)         rate: whole jobs per hour and machine
//
// So a mix costs at least as much per sample as the cheaper of its two kinds at that rate. A mix
// can be cheaper than both kinds only if one kind by itself does not reach its rate (because it
// scales badly, or because plans that fit are slow). Mixes are tried in the order of their cost
// bounds, a few at a time, until the bound of the next is not better than the best. The answer is
// the same for any number of threads.
//
//   Mixed m = best_mix(offers, {1, 2, 4}, terms, best_single, hours);
//   if (m.best) m.best->usd;
#pragma once

#include "search/rent/rent.hpp"

namespace nereus::rent {

struct MixOffer {
  int place = 0;            // only offers in the same place are mixed
  double usd_per_hour = 0;  // per machine
  double peak_rate = 0;     // upper bound in jobs per hour and machine
  // A better upper bound that is expensive to compute; called at most once, from one thread.
  std::function<double()> rate;
};

struct Mix {
  int first = 0, second = 0;  // indices of offers
  int num_first = 0, num_second = 0;
  double hours = 0;
  double usd = 0;
  bool operator==(const Mix&) const = default;
};

struct Mixed {
  std::optional<Mix> best;
  int planned = 0;   // mixes whose hours were computed
  int cut = 0;       // mixes that were pruned by their bounds
  int left_out = 0;  // mixes that might have been better, skipped because of `most`
};

// `beat` is the best choice of one kind; if empty, any mix that meets the terms is accepted.
// `hours` is called from several threads. It includes the start-up, and returns kNever if nothing
// fits or nothing is within `limit`. At most `most` mixes are planned, those with the lowest cost
// bounds; the result is exact if no mix was skipped.
Mixed best_mix(const std::vector<MixOffer>& offers, const std::vector<int>& counts,
               const Terms& terms, const std::optional<Choice>& beat,
               const std::function<double(const Mix& mix, double limit)>& hours,
               int most = std::numeric_limits<int>::max());

}  // namespace nereus::rent
