#include "search/rent/rent.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "search/rent/feed.hpp"
#include "search/rent/spot_goodput.hpp"

namespace nereus::rent::rent_test {
namespace {

// A kind whose work shrinks with the machines, up to what each one adds; some numbers do not fit.
Kind random_kind() {
  const double work = *rc::gen::inRange(1, 200), drag = *rc::gen::inRange(0, 5) / 10.0;
  const double bound = *rc::gen::inRange(30, 101) / 100.0, pace = *rc::gen::inRange(1, 11) / 10.0;
  const int least = *rc::gen::inRange(1, 4);
  Kind kind;
  const int price = *rc::gen::inRange(1, 30);
  kind.tariffs.push_back({double(price), false});
  if (*rc::gen::arbitrary<bool>()) kind.tariffs.push_back({price * 0.3, true});
  kind.most = *rc::gen::inRange(1, 20);
  const auto hours = [=](int n) { return n < least ? kNever : work / n + drag * n; };
  kind.hours = [=](int n, double limit) { return hours(n) <= limit ? hours(n) : kNever; };
  kind.least_hours = [=](int n) { return bound * work / n; };
  kind.pace = [=](int, bool spot) { return spot ? pace : 1.0; };
  return kind;
}

std::vector<Choice> every_choice(const std::vector<Kind>& kinds, const std::vector<int>& counts,
                                 const Terms& terms) {
  std::vector<Choice> all;
  for (int k = 0; k < int(kinds.size()); ++k)
    for (const int n : counts) {
      const Kind& kind = kinds[size_t(k)];
      if (n > kind.most || kind.hours(n, kNever) == kNever) continue;
      for (int t = 0; t < int(kind.tariffs.size()); ++t) {
        const Tariff& tariff = kind.tariffs[size_t(t)];
        const double hours = terms.start_hours + kind.hours(n, kNever) / kind.pace(n, tariff.spot);
        all.push_back({k, t, n, hours, hours * n * tariff.usd_per_hour});
      }
    }
  return all;
}

RC_GTEST_PROP(Rent, FindsWhatBruteForceFinds, ()) {
  std::vector<Kind> kinds;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) kinds.push_back(random_kind());
  const std::vector<int> counts = {1, 2, 3, 4, 6, 8, 12, 16};
  Terms terms;
  terms.start_hours = *rc::gen::inRange(0, 3) / 10.0;
  if (*rc::gen::arbitrary<bool>()) terms.deadline_hours = *rc::gen::inRange(1, 60);
  if (*rc::gen::arbitrary<bool>()) terms.budget_usd = *rc::gen::inRange(10, 2000);
  const Rented found = rent(kinds, counts, terms);
  const std::vector<Choice> all = every_choice(kinds, counts, terms);

  const bool money = terms.deadline_hours < kNever || terms.budget_usd == kNever;
  const auto value = [&](const Choice& c) { return money ? c.usd : c.hours; };
  for (int k = 0; k < int(kinds.size()); ++k)
    for (int t = 0; t < int(kinds[size_t(k)].tariffs.size()); ++t) {
      double best = kNever;
      for (const Choice& c : all)
        if (c.kind == k && c.tariff == t && c.hours <= terms.deadline_hours &&
            c.usd <= terms.budget_usd)
          best = std::min(best, value(c));
      const auto at = std::find_if(found.best.begin(), found.best.end(),
                                   [&](const Choice& c) { return c.kind == k && c.tariff == t; });
      RC_ASSERT((at == found.best.end() ? kNever : value(*at)) == best);
    }
  RC_ASSERT(std::is_sorted(found.best.begin(), found.best.end(),
                           [&](const Choice& a, const Choice& b) { return value(a) < value(b); }));

  std::vector<std::pair<double, double>> front, ours;
  for (const Choice& c : all)
    if (std::none_of(all.begin(), all.end(), [&](const Choice& o) {
          return o.hours <= c.hours && o.usd <= c.usd && (o.hours < c.hours || o.usd < c.usd);
        }))
      front.emplace_back(c.hours, c.usd);
  for (const Choice& c : found.front) ours.emplace_back(c.hours, c.usd);
  std::sort(front.begin(), front.end());
  std::sort(ours.begin(), ours.end());
  RC_ASSERT(front == ours);

  if (found.best.empty() && !all.empty()) {
    RC_ASSERT(found.nearest.has_value());
    double least = kNever;
    for (const Choice& c : all)
      least = std::min(least, terms.deadline_hours < kNever ? c.hours : c.usd);
    RC_ASSERT((terms.deadline_hours < kNever ? found.nearest->hours : found.nearest->usd) == least);
  }
}

TEST(Rent, LeavesOutWhatItsBoundRulesOut) {
  std::vector<Kind> kinds;
  for (int i = 1; i <= 200; ++i) {
    Kind kind;
    kind.tariffs = {{double(i), false}};
    kind.hours = [i](int n, double) { return 100.0 * i / n; };
    kind.least_hours = [i](int n) { return 90.0 * i / n; };
    kind.pace = [](int, bool) { return 1.0; };
    kinds.push_back(kind);
  }
  const Rented found = rent(kinds, {1}, {.front = false});
  EXPECT_EQ(found.best.front().kind, 0);
  EXPECT_EQ(found.best.size(), 200u);  // every kind has its best
  const Rented front = rent(kinds, {1}, {.deadline_hours = 1});
  EXPECT_TRUE(front.best.empty());
  ASSERT_TRUE(front.nearest.has_value());
  EXPECT_EQ(front.nearest->kind, 0);
  EXPECT_GT(front.cut, 100);
}

TEST(Feed, TheSlowerOfPreparingAndFetchingCounts) {
  const Feed feed{.core_seconds = 0.01, .sample_bytes = 1e5, .dataset_bytes = 1e11, .disk = 1e9};
  const FeedTime t = feed_time(feed, {.cores = 50, .memory = 5e10}, 2, 1000);
  EXPECT_DOUBLE_EQ(t.prepare, 0.1);                  // 10 core-seconds over 100 cores
  EXPECT_DOUBLE_EQ(t.fetch, 1e8 * (1 - 0.4) / 2e9);  // 40 % of it lies in memory
  EXPECT_DOUBLE_EQ(t.seconds(), 0.1);
  EXPECT_EQ(feed_time(feed, {.cores = 50, .memory = 2e11}, 2, 1000).fetch, 0);  // all of it does
}

TEST(SpotGoodput, FallsWithMachinesAndIsTheShareWhereNoneGo) {
  const Preemptions none{.per_second = 0, .present = 0.9};
  EXPECT_DOUBLE_EQ(spot_goodput(none, {.machines = 8, .step = 1}), 0.9);
  const Preemptions some{.per_second = 0.5 / 3600, .present = 0.9};
  double before = 1;
  for (const int n : {1, 2, 8, 64, 512}) {
    const double now = spot_goodput(some, {n, 2, 1e10, 1e9, true});
    EXPECT_LT(now, before);
    before = now;
  }
  // A loss takes 2 s to see, half a step, and 10 s of moving, twice.
  EXPECT_NEAR(spot_goodput(some, {2, 2, 1e10, 1e9, true}), 0.9 * (1 - 0.9 / 3600 * 23), 1e-12);
  EXPECT_LT(spot_goodput(some, {2, 2, 1e10, 1e9, false}),
            spot_goodput(some, {2, 2, 1e10, 1e9, true}));
}

}  // namespace
}  // namespace nereus::rent::rent_test
