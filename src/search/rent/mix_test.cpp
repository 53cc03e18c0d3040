#include "search/rent/mix.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace nereus::rent::mix_test {
namespace {

struct Problem {
  std::vector<MixOffer> offers;
  std::vector<int> counts = {1, 2, 3, 4, 8};
  Terms terms;
  std::optional<Choice> beat;
  std::function<double(const Mix&, double)> hours;
};

// Mixes that reach some share of their rates, by numbers that are as good as random; some fit not.
Problem any_problem() {
  Problem p;
  std::vector<double> rates;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    const double rate = *rc::gen::inRange(1, 100) / 1000.0;
    rates.push_back(rate);
    p.offers.push_back({*rc::gen::inRange(0, 2), double(*rc::gen::inRange(1, 30)),
                        rate * (1 + *rc::gen::inRange(0, 5) / 10.0), [rate] { return rate; }});
  }
  p.terms.start_hours = *rc::gen::inRange(0, 3) / 10.0;
  if (*rc::gen::arbitrary<bool>()) p.terms.deadline_hours = *rc::gen::inRange(1, 60);
  if (*rc::gen::arbitrary<bool>()) p.terms.budget_usd = *rc::gen::inRange(10, 2000);
  if (*rc::gen::arbitrary<bool>())
    p.beat = Choice{0, 0, 1, double(*rc::gen::inRange(1, 100)), double(*rc::gen::inRange(10, 900))};
  const int seed = *rc::gen::inRange(0, 1000);
  const double start = p.terms.start_hours;
  p.hours = [rates, seed, start](const Mix& m, double limit) {
    const int luck =
        (seed + 7 * m.first + 13 * m.second + 29 * m.num_first + 31 * m.num_second) % 11;
    if (luck == 0) return kNever;
    const double best =
        m.num_first * rates[size_t(m.first)] + m.num_second * rates[size_t(m.second)];
    const double hours = start + 1 / (best * (0.5 + luck / 20.0));
    return hours <= limit ? hours : kNever;
  };
  return p;
}

RC_GTEST_PROP(Mix, IsWhatBruteForceFinds, ()) {
  const Problem p = any_problem();
  const bool money = p.terms.deadline_hours < kNever || p.terms.budget_usd == kNever;
  double least = p.beat ? (money ? p.beat->usd : p.beat->hours) : kNever;
  bool any = false;
  for (int a = 0; a < int(p.offers.size()); ++a)
    for (int b = a + 1; b < int(p.offers.size()); ++b)
      for (const int n : p.counts)
        for (const int m : p.counts) {
          const MixOffer &first = p.offers[size_t(a)], &second = p.offers[size_t(b)];
          const double hours = p.hours({a, b, n, m}, kNever);
          const double usd = hours * (n * first.usd_per_hour + m * second.usd_per_hour);
          if (first.place != second.place || hours > p.terms.deadline_hours || hours == kNever ||
              usd > p.terms.budget_usd || (money ? usd : hours) >= least)
            continue;
          least = money ? usd : hours;
          any = true;
        }
  const Mixed found = best_mix(p.offers, p.counts, p.terms, p.beat, p.hours);
  RC_ASSERT(found.best.has_value() == any);
  if (any) RC_ASSERT((money ? found.best->usd : found.best->hours) == least);
}

TEST(Mix, AsksNothingWhereNoRateCouldBeEnough) {
  std::vector<MixOffer> offers;
  for (int i = 0; i < 3; ++i) offers.push_back({0, 10, 0.1, [] { return 0.05; }});
  const auto never = [](const Mix&, double) {
    ADD_FAILURE() << "not to be asked";
    return 1.0;
  };
  // At its rate a job costs 200 dollars on any of them; one kind alone does it for 199.
  const Mixed found = best_mix(offers, {1, 2}, {}, Choice{0, 0, 1, 20, 199}, never);
  EXPECT_FALSE(found.best.has_value());
  EXPECT_EQ(found.planned, 0);
  EXPECT_EQ(found.cut, 12);
}

}  // namespace
}  // namespace nereus::rent::mix_test
