#include "calibrate/fit_errors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace nereus::calibrate::fit_errors_test {
namespace {

using cost::ErrorTable;
using cost::Quantity;

LeftOutRow row_of(const std::string& device, const std::string& group, double r) {
  LeftOutRow row;
  row.conditions.family = "decoder";
  row.conditions.stack = "s";
  row.conditions.software = {"s"};
  row.conditions.devices = {device};
  row.conditions.precision = "16-bit";
  row.conditions.size = "one node";
  row.conditions.num_devices = 8;
  row.group = group;
  row.source = device;
  row.step = r;
  return row;
}

// Residuals of two devices: normally distributed, one five times as wide as the other.
std::vector<LeftOutRow> two_devices(int groups, int rows_per_group) {
  std::mt19937 bits(7);
  std::normal_distribution<double> normal;
  std::vector<LeftOutRow> rows;
  for (const auto& [device, sigma] : {std::pair{"A", 0.04}, std::pair{"B", 0.2}})
    for (int g = 0; g < groups; ++g)
      for (int i = 0; i < rows_per_group; ++i)
        rows.push_back(row_of(device, device + std::to_string(g), sigma * normal(bits)));
  return rows;
}

std::vector<const LeftOutRow*> pointers(const std::vector<LeftOutRow>& rows) {
  std::vector<const LeftOutRow*> all;
  for (const LeftOutRow& row : rows) all.push_back(&row);
  return all;
}

TEST(FitErrors, IntervalsOfEachKindHoldFourFifthsOfItsRuns) {
  const std::vector<LeftOutRow> rows = two_devices(100, 4);
  const ErrorTable table = fit_errors(pointers(rows));
  for (const auto& [device, sigma] : {std::pair{"A", 0.04}, std::pair{"B", 0.2}}) {
    const auto band = table.band(Quantity::kStep, row_of(device, "", 0).conditions);
    ASSERT_TRUE(band);
    EXPECT_NEAR(band->high(), 1.2816 * sigma, 0.2 * 1.2816 * sigma) << device;
    EXPECT_NEAR(band->low(), -1.2816 * sigma, 0.2 * 1.2816 * sigma) << device;
    EXPECT_EQ(band->rows, 400);
  }
}

TEST(FitErrors, OneGroupSaysLessThanMany) {
  std::vector<LeftOutRow> many = two_devices(50, 1);
  for (LeftOutRow& row : many) row.step = std::copysign(row.source == "A" ? 0.04 : 0.2, *row.step);
  std::vector<LeftOutRow> one = many;
  std::erase_if(one, [](const LeftOutRow& r) { return r.source == "B" && r.group != "B0"; });
  const auto ratio = [](const std::vector<LeftOutRow>& rows) {
    const ErrorTable table = fit_errors(pointers(rows));
    return table.scales[0].effects.at("device:B").value -
           table.scales[0].effects.at("device:A").value;
  };
  const double whole = std::log(0.205 / 0.045);
  EXPECT_NEAR(ratio(many), whole, 0.1);
  EXPECT_LT(ratio(one), 0.75 * whole);
  EXPECT_GT(ratio(one), 0.25 * whole);
}

TEST(FitErrors, UnseenFactorIsHowMuchWorseLeftOutSourcesAre) {
  std::vector<LeftOutRow> groups = two_devices(50, 1);
  for (LeftOutRow& row : groups) row.step = std::copysign(0.1, *row.step);
  std::vector<LeftOutRow> sources = groups;
  for (LeftOutRow& row : sources) row.step = *row.step * 4;
  EXPECT_NEAR(unseen_factor(groups, sources, Quantity::kStep), 0.405 / 0.105, 1e-9);
  EXPECT_EQ(unseen_factor(sources, groups, Quantity::kStep), 1);  // never narrower
  EXPECT_EQ(unseen_factor(groups, sources, Quantity::kMemory), 1);
}

TEST(FitErrors, ATableWithoutAGroupDoesNotDependOnIt) {
  std::vector<LeftOutRow> rows = two_devices(10, 2);
  ErrorTable all = fit_errors(pointers(rows));
  all.scales[0].unseen = 2.5;
  const auto before = tables_without_own_group(rows, all);
  rows.front().step = 3.0;
  const auto after = tables_without_own_group(rows, all);
  EXPECT_EQ(*before.front(), *after.front());
  EXPECT_NE(*before.back(), *after.back());
  EXPECT_EQ(before.front()->scales[0].unseen, 2.5);
}

TEST(FitErrors, TheCurveOfFittingIsFound) {
  std::mt19937 bits(3);
  std::uniform_real_distribution<double> uniform;
  std::vector<LeftOutRow> rows;
  for (int i = 0; i < 4000; ++i) {
    LeftOutRow row = row_of("A", "g" + std::to_string(i), 0.1);
    row.room = uniform(bits) * 0.8 - 0.2;
    const double fits = 0.95 / (1 + std::exp(-(row.room - 0.1) / 0.05));
    row.failed = uniform(bits) > fits;
    if (row.failed) row.step.reset();
    rows.push_back(row);
  }
  const ErrorTable table = fit_errors(pointers(rows));
  EXPECT_NEAR(table.fits.center, 0.1, 0.02);
  EXPECT_NEAR(table.fits.spread, 0.05, 0.015);
  EXPECT_TRUE(table.fits.software.contains("s"));
}

}  // namespace
}  // namespace nereus::calibrate::fit_errors_test
