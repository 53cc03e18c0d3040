// Which machines to rent, how many, and for how long: computes the hours and dollars of the whole
// job for every choice of (kind, number, tariff), and returns exactly the cheapest choice within a
// deadline, the fastest within a budget, and every choice that no other beats in both (the front).
//
//   hours = start-up + work(kind, number) / pace(kind, number, tariff)
//   usd   = hours number usd_per_hour(tariff)
//
// The work is hours at full speed; a separate, slow search (search/regular) finds it. The pace is
// the share of that speed that the job keeps. A lower bound of the work from the devices' peak rate
// is fast to compute. So choices are tried in the order of their cost bounds, a fixed number at a
// time, and a choice is pruned if even its bound is beaten:
//   - within its kind and tariff, by a cheaper choice that meets the terms;
//   - on the front, by a choice that is at least as fast and as cheap.
// The search of a choice gets the number of hours beyond which the choice would be beaten, and
// stops there. All this only prunes choices that brute force would not return
// (search/rent/rent_test.cpp). The answer is the same for any number of threads.
//
//   Rented r = rent(kinds, {1, 2, 4, 8}, {.deadline_hours = 24});
//   r.best;                    // one per kind and tariff that meets the terms, best first
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace nereus::rent {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct Tariff {
  double usd_per_hour = 0;  // per machine
  bool spot = false;
};

// Machines of one kind. The functions are called from several threads.
struct Kind {
  std::vector<Tariff> tariffs;
  int most = std::numeric_limits<int>::max();       // number of machines that can be joined
  std::function<double(int machines)> least_hours;  // a lower bound for all plans, on any tariff
  // Hours of the best plan; kNever if none fits, or none is within `limit` hours.
  std::function<double(int machines, double limit)> hours;
  std::function<double(int machines, bool spot)> pace;  // 0 to 1; called after `hours`
};

struct Terms {
  double deadline_hours = kNever;
  double budget_usd = kNever;
  double start_hours = 0;
  bool front = true;  // whether to compute the front
};

struct Choice {
  int kind = 0;
  int tariff = 0;
  int machines = 0;
  double hours = 0;
  double usd = 0;
  bool operator==(const Choice&) const = default;
};

struct Rented {
  // The best of each kind and tariff under the terms, best first: the fastest if there is only a
  // budget, else the cheapest.
  std::vector<Choice> best;
  std::vector<Choice> front;      // fastest first
  std::optional<Choice> nearest;  // if no choice meets the terms: the fastest or the cheapest one
  int asked = 0;                  // choices whose work was computed
  int cut = 0;                    // choices that were pruned by their bounds
};

Rented rent(const std::vector<Kind>& kinds, const std::vector<int>& counts, const Terms& terms);

}  // namespace nereus::rent
