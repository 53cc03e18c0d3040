// Fits the four numbers of simulate/nccl_model.hpp to measured times, and computes how well such a
// fit predicts sizes that it has not seen.
//
// With q = step x efficiency (during the latency of one step, a link carries q x wire bytes), and
// W, s, n and B as in simulate/nccl_model.hpp, the time is linear in the three unknowns floor, u
// and v,
//   time = floor + u [W + 2 sqrt(W s q w) + s q w] / w + v B / (n w)      w = wire
//   u = 1 / efficiency, v = tail / efficiency,
// so for each q there is one best fit (floor >= 0, u >= 1, v >= 0) by least squares of the relative
// error. It is found exactly, by trying which of the three are at their bounds. q is found by a
// one-dimensional search. There is no start value and no randomness.
//
//   const NcclNumbers numbers = fit_numbers(measured);
//   mean_abs_error(numbers, measured);      // error on the fitted data
//   leave_one_size_out(measured);           // error on sizes that were left out of the fit
#pragma once

#include <optional>
#include <vector>

#include "simulate/nccl_model.hpp"

namespace nereus::simulate {

struct MeasuredCollective {
  NcclCall call;
  double seconds = 0;
};

inline constexpr int kNumNcclNumbers = 4;

// Needs at least one measurement. With fewer than four measurements, some numbers stay at their
// bound.
NcclNumbers fit_numbers(const std::vector<MeasuredCollective>& measured);

double mean_abs_error(const NcclNumbers& numbers, const std::vector<MeasuredCollective>& measured);

// The mean error when each size is predicted from a fit to all other sizes; empty if there is only
// one size.
std::optional<double> leave_one_size_out(const std::vector<MeasuredCollective>& measured);

}  // namespace nereus::simulate
