// Which machines to rent, how many, and for how long: of every (kind, number, tariff) the hours and
// dollars of the whole job, the cheapest within a deadline, the quickest within a budget, and every
// choice that no other beats in both (the front), exactly.
//
//   hours = start-up + work(kind, number) / pace(kind, number, tariff)
//   usd   = hours number usd_per_hour(tariff)
//
// work is known by a search of its own (search/regular) and dear; what it is at least, by the
// devices' peak alone, is cheap. So choices are taken in the order of the least they could cost, a
// fixed number at a time, and one is left out where even that least is beaten:
//   - within its kind and tariff, by a choice that meets the terms for less money;
//   - on the front, by a choice that is at least as quick and as cheap.
// The hours beyond which a choice is beaten so are handed to its search, which ends there. All this
// only leave out what brute force over all choices would not return (search/rent/rent_test.cpp).
// The answer is the same at any number of threads.
//
//   Rented r = rent(kinds, {1, 2, 4, 8}, {.deadline_hours = 24});
//   r.best;                    // one for each kind and tariff that meets the terms, best first
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace nereus::rent {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct Tariff {
  double usd_per_hour = 0;  // of one machine
  bool spot = false;
};

// Machines of one kind. The functions are called from several threads.
struct Kind {
  std::vector<Tariff> tariffs;
  int most = std::numeric_limits<int>::max();       // machines that can be joined
  std::function<double(int machines)> least_hours;  // no plan is quicker, on any tariff
  // Of the best plan; kNever where none fits, or none within `limit` hours.
  std::function<double(int machines, double limit)> hours;
  std::function<double(int machines, bool spot)> pace;  // 0 to 1; asked after hours
};

struct Terms {
  double deadline_hours = kNever;
  double budget_usd = kNever;
  double start_hours = 0;
  bool front = true;  // wanted too
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
  // The best of each kind and tariff under the terms: the cheapest where there is a deadline or
  // nothing, the quickest where there is only a budget. Best first.
  std::vector<Choice> best;
  std::vector<Choice> front;      // quickest first
  std::optional<Choice> nearest;  // where none meets the terms: the quickest, or the cheapest
  int asked = 0;                  // choices of which the work was found
  int cut = 0;
};

Rented rent(const std::vector<Kind>& kinds, const std::vector<int>& counts, const Terms& terms);

}  // namespace nereus::rent
