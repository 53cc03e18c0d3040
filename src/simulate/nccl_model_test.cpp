#include "simulate/nccl_model.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/units.hpp"
#include "simulate/nccl_fit.hpp"
#include "spec/csv.hpp"
#include "tests/source_dir.hpp"

namespace nereus::simulate::nccl_model_test {
namespace {

NcclCall any_call() {
  return {static_cast<Collective>(*rc::gen::inRange(0, 4)), *rc::gen::inRange(2, 9),
          static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1 << 30)),
          *rc::gen::inRange(10, 900) * 1e9};
}

RC_GTEST_PROP(Nccl, NothingIsFasterThanItsWireAndMoreIsNeverLess, ()) {
  const NcclCall call = any_call();
  const double seconds = collective_seconds(kNcclA100, call);
  RC_ASSERT(seconds > wire_bytes(call) / call.wire);
  NcclCall more = call;
  more.bytes *= 1.5;
  RC_ASSERT(collective_seconds(kNcclA100, more) > seconds);
  NcclCall faster = call;
  faster.wire *= 2;
  RC_ASSERT(collective_seconds(kNcclA100, faster) < seconds);
}

TEST(Nccl, WithoutLatenciesItIsTheWire) {
  const NcclCall call{Collective::kAllReduce, 8, 800e6, 100e9};
  EXPECT_NEAR(collective_seconds({0, 1, 0, 0}, call), 14e-3, 1e-12);  // 2 * 7/8 * 8 ms
  EXPECT_EQ(collective_seconds(kNcclA100, {Collective::kAllReduce, 1, 1e9, 1e9}), 0);
}

// Times made from known numbers give these numbers back.
TEST(NcclFit, FindsWhatMadeTheTimes) {
  const NcclNumbers truth{20e-6, 0.8, 1.5e-6, 0.4};
  std::vector<MeasuredCollective> made;
  for (const int n : {2, 4, 8})
    for (double bytes = kMiB; bytes <= kGiB; bytes *= 4) {
      const NcclCall call{Collective::kAllReduce, n, bytes, 300e9};
      made.push_back({call, collective_seconds(truth, call)});
    }
  const NcclNumbers found = fit_numbers(made);
  EXPECT_NEAR(found.floor / truth.floor, 1, 1e-4);
  EXPECT_NEAR(found.efficiency / truth.efficiency, 1, 1e-4);
  EXPECT_NEAR(found.step / truth.step, 1, 1e-4);
  EXPECT_NEAR(found.tail / truth.tail, 1, 1e-4);
  EXPECT_LT(*leave_one_size_out(made), 1e-4);
}

// Faster than the wire cannot be fitted: the efficiency stays at its bound.
RC_GTEST_PROP(NcclFit, StaysPhysicalWhateverWasMeasured, ()) {
  std::vector<MeasuredCollective> measured;
  const int count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i)
    measured.push_back({any_call(), *rc::gen::inRange(1, 1'000'000) * 1e-8});
  const NcclNumbers n = fit_numbers(measured);
  RC_ASSERT(n.floor >= 0 && n.step >= 0 && n.tail >= 0);
  RC_ASSERT(n.efficiency > 0 && n.efficiency <= 1);
}

std::vector<MeasuredCollective> published() {
  const spec::Csv csv = spec::read_csv(source_dir() + "/data/collectives/nccl_a100.csv");
  std::vector<MeasuredCollective> measured;
  for (const spec::CsvRow& row : csv.rows) {
    const auto number = [&](const char* column) {
      return std::stod(csv.cell(row, csv.find(column)));
    };
    measured.push_back({{*parse_collective(csv.cell(row, csv.find("collective"))),
                         static_cast<int>(number("gpus")), number("bytes"), 300e9},
                        number("measured_ns") * 1e-9});
  }
  return measured;
}

TEST(NcclFit, PredictsMeasuredA100) {
  const std::vector<MeasuredCollective> measured = published();
  ASSERT_EQ(measured.size(), 12u);
  EXPECT_LE(mean_abs_error(fit_numbers(measured), measured), 0.03);
  EXPECT_LE(*leave_one_size_out(measured), 0.06);
}

TEST(NcclFit, GivesTheNumbersWeShip) {
  const NcclNumbers fitted = fit_numbers(published());
  EXPECT_NEAR(fitted.floor / kNcclA100.floor, 1, 1e-3);
  EXPECT_NEAR(fitted.efficiency / kNcclA100.efficiency, 1, 1e-3);
  EXPECT_NEAR(fitted.step / kNcclA100.step, 1, 1e-3);
  EXPECT_NEAR(fitted.tail / kNcclA100.tail, 1, 1e-3);
}

}  // namespace
}  // namespace nereus::simulate::nccl_model_test
