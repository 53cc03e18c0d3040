#include "simulate/pipeline/jitter.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace nereus::simulate::jitter_test {
namespace {

using Kind = Distribution::Kind;

constexpr Picoseconds kNominal = 100'000'000'000;  // 0.1 s
constexpr int kDraws = 200'000;

double below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Draws of one stage's micro-batches, as shares of the nominal time, sorted.
std::vector<double> draws_of(const Distribution& distribution, std::uint64_t seed = 1) {
  const Jitter jitter{.compute = distribution, .seed = seed};
  const Draws draws(jitter, 0, 0);
  std::vector<double> out;
  for (int m = 0; m < kDraws; ++m)
    out.push_back(
        static_cast<double>(draws.compute(0, draw_key({Pass::kForward, 3, m}), kNominal)) /
        static_cast<double>(kNominal));
  std::sort(out.begin(), out.end());
  return out;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// The largest distance from the exact distribution (Kolmogorov); over 1.95 / sqrt(n) happens to one
// in a thousand.
template <class Exact>
double distance(const std::vector<double>& sorted, Exact&& exact) {
  double most = 0;
  const auto n = static_cast<double>(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double p = exact(sorted[i]);
    most = std::max({most, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
  }
  return most;
}
const double kFar = 1.95 / std::sqrt(kDraws);

TEST(Jitter, TheQuantileIsTheInverse) {
  for (const double x : {-8.0, -6.5, -5.0, -3.0, -1.5, -0.3, 0.0, 0.1, 1.0, 1.439, 1.45, 4.0, 5.0})
    EXPECT_NEAR(normal_quantile(below(x)), x, 1e-9 + (x > 3 ? 2e-10 * std::exp(x * x / 2) : 0))
        << x;
  // Published: 97.5 % and 99.9 %.
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-15);
  EXPECT_NEAR(normal_quantile(0.999), 3.090232306167813, 3e-15);
}

RC_GTEST_PROP(Jitter, TheQuantileRises, ()) {
  const double a = *rc::gen::inRange(1, 1'000'000) * 1e-6;
  const double b = *rc::gen::inRange(1, 1'000'000) * 1e-6;
  RC_PRE(a < b && b < 1);
  RC_ASSERT(normal_quantile(a) < normal_quantile(b));
  RC_ASSERT(std::abs(below(normal_quantile(a)) - a) < 1e-14);
}

TEST(Jitter, NormalDrawsAreNormal) {
  const std::vector<double> relative = draws_of({Kind::kNormal, 0.05});
  EXPECT_LT(distance(relative, [](double x) { return below((x - 1) / 0.05); }), kFar);
  EXPECT_NEAR(mean_of(relative), 1, 5 * 0.05 / std::sqrt(kDraws));
  const std::vector<double> absolute = draws_of({Kind::kNormal, 0, 2e-3});
  EXPECT_LT(distance(absolute, [](double x) { return below((x - 1) / 0.02); }), kFar);
}

TEST(Jitter, NormalDrawsEndAtZero) {
  const std::vector<double> wide = draws_of({Kind::kNormal, 1});
  EXPECT_EQ(wide.front(), 0);
  // P(z < -1) of them are cut off, which lifts the mean by 8.3 %.
  const auto cut = std::count(wide.begin(), wide.end(), 0.0);
  EXPECT_NEAR(static_cast<double>(cut) / kDraws, below(-1), 5 * 0.37 / std::sqrt(kDraws));
  EXPECT_NEAR(mean_of(wide), 1.0833, 5 / std::sqrt(kDraws));
}

TEST(Jitter, DelaysAreNeverEarly) {
  const std::vector<double> delayed = draws_of({Kind::kDelay, 0, 10e-3});
  EXPECT_GE(delayed.front(), 1);
  EXPECT_LT(distance(delayed, [](double x) { return 2 * below((x - 1) / 0.1) - 1; }), kFar);
  EXPECT_NEAR(mean_of(delayed), 1 + 0.1 * std::sqrt(2 / 3.14159265358979),
              5 * 0.06 / std::sqrt(kDraws));
}

TEST(Jitter, LogNormalDrawsKeepTheMean) {
  for (const double sigma : {0.1, 0.5, 1.0}) {
    const std::vector<double> drawn = draws_of({Kind::kLogNormal, 0, 0, sigma});
    EXPECT_LT(distance(drawn, [&](double x) { return below(std::log(x) / sigma + sigma / 2); }),
              kFar);
    const double deviation = std::sqrt(std::exp(sigma * sigma) - 1);
    EXPECT_NEAR(mean_of(drawn), 1, 5 * deviation / std::sqrt(kDraws)) << sigma;
  }
}

TEST(Jitter, MeasuredFactorsComeUpEquallyOften) {
  const std::vector<double> drawn =
      draws_of({Kind::kMeasured, 0, 0, 0, {0.5, 1.0, 1.0, 2.5, 0.75}});
  const auto share = [&](double x) {
    return static_cast<double>(std::count(drawn.begin(), drawn.end(), x)) / kDraws;
  };
  EXPECT_NEAR(share(0.5), 0.2, 5 * 0.4 / std::sqrt(kDraws));
  EXPECT_NEAR(share(1.0), 0.4, 5 * 0.5 / std::sqrt(kDraws));
  EXPECT_NEAR(share(2.5), 0.2, 5 * 0.4 / std::sqrt(kDraws));
  EXPECT_NEAR(mean_of(drawn), 1.15, 5 * 0.7 / std::sqrt(kDraws));
}

// Neighbours in any of the fields that make a key, and the streams of passes and messages, have
// nothing to do with one another.
TEST(Jitter, DrawsAreIndependent) {
  const Jitter jitter{.compute = {Kind::kNormal, 0.1}, .link = {Kind::kNormal, 0.1}, .seed = 5};
  const auto draw = [&](std::uint64_t step, std::uint64_t replica, PipelineOp op, bool link) {
    const Draws draws(jitter, step, replica);
    const Picoseconds t =
        link ? draws.link(draw_key(op), kNominal) : draws.compute(0, draw_key(op), kNominal);
    return (static_cast<double>(t) / static_cast<double>(kNominal) - 1) / 0.1;
  };
  constexpr int kPairs = 40'000;
  const auto correlation = [&](auto&& other) {
    double sum = 0;
    for (int m = 0; m < kPairs; ++m) sum += draw(0, 0, {Pass::kForward, 7, m}, false) * other(m);
    return sum / kPairs;
  };
  const double far = 5 / std::sqrt(kPairs);
  EXPECT_LT(std::abs(correlation([&](int m) {
              return draw(0, 0, {Pass::kForward, 7, m + 1}, false);
            })),
            far);
  EXPECT_LT(std::abs(correlation([&](int m) {
              return draw(0, 0, {Pass::kForward, 8, m}, false);
            })),
            far);
  EXPECT_LT(std::abs(correlation([&](int m) {
              return draw(0, 0, {Pass::kBackward, 7, m}, false);
            })),
            far);
  EXPECT_LT(std::abs(correlation([&](int m) {
              return draw(0, 0, {Pass::kForward, 7, m}, true);
            })),
            far);
  EXPECT_LT(std::abs(correlation([&](int m) {
              return draw(1, 0, {Pass::kForward, 7, m}, false);
            })),
            far);
  EXPECT_LT(std::abs(correlation([&](int m) {
              return draw(0, 1, {Pass::kForward, 7, m}, false);
            })),
            far);
  EXPECT_NEAR(correlation([&](int m) {
                return draw(0, 0, {Pass::kForward, 7, m}, false);
              }),
              1, 0.05);
}

// What a thread draws does not depend on what another has drawn before.
TEST(Jitter, TheOrderOfDrawingDoesNotMatter) {
  const Jitter jitter{.compute = {Kind::kLogNormal, 0, 0, 0.4}, .link = {Kind::kDelay, 1}};
  constexpr int kCount = 100;
  std::vector<Picoseconds> upwards, downwards;
  for (int i = 0; i < kCount; ++i)
    upwards.push_back(Draws(jitter, 1, 2).link(draw_key({Pass::kBackward, 1, i}), kNominal));
  const Draws draws(jitter, 1, 2);
  for (int i = kCount; i-- > 0;) {
    draws.compute(i, draw_key({Pass::kBackward, 1, i}), kNominal);
    downwards.push_back(draws.link(draw_key({Pass::kBackward, 1, i}), kNominal));
  }
  std::reverse(downwards.begin(), downwards.end());
  EXPECT_EQ(upwards, downwards);
}

TEST(Jitter, SeedsDiffer) {
  EXPECT_NE(draws_of({Kind::kNormal, 0.05}, 1), draws_of({Kind::kNormal, 0.05}, 2));
  EXPECT_EQ(draws_of({Kind::kNormal, 0.05}, 2), draws_of({Kind::kNormal, 0.05}, 2));
}

// --- text ----------------------------------------------------------------------------------------

TEST(Jitter, ReadsItsForms) {
  EXPECT_EQ(parse_distribution("none"), Distribution{});
  EXPECT_EQ(parse_distribution("normal:5%"), (Distribution{Kind::kNormal, 0.05}));
  EXPECT_EQ(parse_distribution("normal:2 ms"), (Distribution{Kind::kNormal, 0, 2e-3}));
  EXPECT_EQ(parse_distribution("delay:10ms"), (Distribution{Kind::kDelay, 0, 10e-3}));
  EXPECT_EQ(parse_distribution("lognormal:0.1"), (Distribution{Kind::kLogNormal, 0, 0, 0.1}));
  EXPECT_EQ(parse_slow_rank("3:1.25"), (SlowRank{3, 1.25}));
}

RC_GTEST_PROP(Jitter, WhatItWritesItReads, ()) {
  Distribution d;
  d.kind = *rc::gen::element(Kind::kNone, Kind::kNormal, Kind::kDelay, Kind::kLogNormal);
  const double number = *rc::gen::inRange(1, 3000) * 1e-3;
  if (d.kind == Kind::kLogNormal) d.sigma = number;
  if (d.kind == Kind::kNormal) d.seconds = number;
  if (d.kind == Kind::kDelay) d.relative = *rc::gen::inRange(1, 64) / 64.0;
  RC_ASSERT(parse_distribution(to_text(d)) == d);
  const SlowRank slow{*rc::gen::inRange(0, 1000), number};
  RC_ASSERT(parse_slow_rank(to_text(slow)) == slow);
}

std::string code_of(auto&& call) {
  try {
    call();
  } catch (const Errors& errors) {
    EXPECT_FALSE(errors.list().front().hint.empty());
    return errors.list().front().code;
  }
  return "";
}

TEST(Jitter, RefusesWhatIsNone) {
  for (const char* text : {"", "normal", "normal:", "normal:5", "normal:-5%", "normal:-2ms",
                           "normal:5%%", "normal:nan%", "normal:1e30s", "poisson:3", "none:1",
                           "lognormal:x", "lognormal:-1", "lognormal:9", "measured:", "delay:3GB"})
    EXPECT_EQ(code_of([&] { parse_distribution(text); }), "simulate.jitter") << text;
  for (const char* text :
       {"", "3", "3:", ":2", "-1:2", "3:0", "3:-1", "3:x", "x:2", "3:1e9", "3:inf"})
    EXPECT_EQ(code_of([&] { parse_slow_rank(text); }), "simulate.jitter") << text;
  EXPECT_EQ(code_of([&] { parse_distribution("measured:/no/such/file"); }), "spec.no-file");
}

TEST(Jitter, ReadsMeasuredFactors) {
  const TemporaryFolder folder;
  const auto with = [&](const char* text) {
    return parse_distribution("measured:" + folder.write("factors", text)).factors;
  };
  EXPECT_EQ(with("1\n# slower\n1.5\n\n 0.5 \r\n"), (std::vector<double>{1, 1.5, 0.5}));
  EXPECT_EQ(with("step,factor\n1,0.9\n2,1.1\n"), (std::vector<double>{0.9, 1.1}));
  EXPECT_EQ(with("ratio\n0.9\n"), (std::vector<double>{0.9}));
  EXPECT_EQ(code_of([&] { with("1\nx\n"); }), "simulate.jitter");
  EXPECT_EQ(code_of([&] { with("1\n-2\n"); }), "simulate.jitter");
  EXPECT_EQ(code_of([&] { with("a,b\n1,2\n"); }), "simulate.jitter");
  EXPECT_EQ(code_of([&] { with("factor\n"); }), "simulate.jitter");
  EXPECT_EQ(code_of([&] { with("# none\n"); }), "simulate.jitter");
  EXPECT_EQ(code_of([&] { with(""); }), "simulate.jitter");
}

}  // namespace
}  // namespace nereus::simulate::jitter_test
