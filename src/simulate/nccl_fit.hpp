// The four numbers of simulate/nccl_model.hpp, fitted to measured times, and how well such a fit
// predicts sizes that it has not seen.
//
// With q = step x efficiency (latency in units of the wire: q x wire bytes fit into one step) the
// time is linear in the other three,
//   time = floor + u [W + 2 sqrt(W s q w) + s q w] / w + v B / (n w)      w = wire
//   u = 1 / efficiency, v = tail / efficiency,
// so for each q there is one best (floor >= 0, u >= 1, v >= 0) by least squares of the relative
// error, found exactly among the faces of these bounds; q itself by a search of one dimension. No
// start value, no randomness.
//
//   const NcclNumbers numbers = fit_numbers(measured);
//   mean_abs_error(numbers, measured);      // of what it was fitted to
//   leave_one_size_out(measured);           // of what it was not
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

// At least one measurement. Fewer than four leave some numbers at their bound.
NcclNumbers fit_numbers(const std::vector<MeasuredCollective>& measured);

double mean_abs_error(const NcclNumbers& numbers, const std::vector<MeasuredCollective>& measured);

// Mean error of each measurement, predicted from a fit to all other sizes; nothing where there is
// only one size.
std::optional<double> leave_one_size_out(const std::vector<MeasuredCollective>& measured);

}  // namespace nereus::simulate
