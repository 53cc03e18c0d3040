// Fits the four numbers of simulate/nccl_model.hpp to measured times, and computes how well such a
// fit predicts sizes that it has not seen.
//
// With q = step x efficiency (the latency in units of the wire: q x wire bytes fit into one step),
// the time is linear in the other three numbers,
//   time = floor + u [W + 2 sqrt(W s q w) + s q w] / w + v B / (n w)      w = wire
//   u = 1 / efficiency, v = tail / efficiency,
// so for each q there is one best fit (floor >= 0, u >= 1, v >= 0) by least squares of the relative
// error, found exactly among the faces of these bounds. q is found by a one-dimensional search.
// There is no start value and no randomness.
//
//   const NcclNumbers numbers = fit_numbers(measured);
//   mean_abs_error(numbers, measured);      // for the data of the fit
//   leave_one_size_out(measured);           // for data outside the fit
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

// Needs at least one measurement. With fewer than four, some numbers stay at their bound.
NcclNumbers fit_numbers(const std::vector<MeasuredCollective>& measured);

double mean_abs_error(const NcclNumbers& numbers, const std::vector<MeasuredCollective>& measured);

// The mean error when each size is predicted from a fit to all other sizes; empty if there is only
// one size.
std::optional<double> leave_one_size_out(const std::vector<MeasuredCollective>& measured);

}  // namespace nereus::simulate
