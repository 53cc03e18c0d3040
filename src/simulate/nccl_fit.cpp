#include "simulate/nccl_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.hpp"

namespace nereus::simulate {

namespace {

using Vector = std::array<double, 3>;  // floor, u, v

constexpr Vector kLeast = {0, 1, 0};

struct Candidate {
  Vector x = kLeast;
  double loss = std::numeric_limits<double>::infinity();
};

// The row of one measurement, divided by its time: relative errors.
Vector row_of(const MeasuredCollective& m, double q) {
  const double w = m.call.wire, wire = wire_bytes(m.call) / w, latency = ring_steps(m.call) * q;
  const double pipeline = std::sqrt(wire) + std::sqrt(latency);
  return {1 / m.seconds, pipeline * pipeline / m.seconds,
          m.call.bytes / (m.call.num_ranks * w) / m.seconds};
}

// Least squares over the variables in `free`, with the others at their bound; returns false if that
// is singular or violates a bound.
bool solve_face(const std::vector<Vector>& rows, unsigned free, Vector& x) {
  std::array<std::array<double, 4>, 3> a{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(free >> i & 1)) {
      a[i][i] = 1;
      a[i][3] = kLeast[i];
      continue;
    }
    for (const Vector& row : rows) {
      double target = 1;
      for (std::size_t j = 0; j < 3; ++j)
        if (free >> j & 1)
          a[i][j] += row[i] * row[j];
        else
          target -= row[j] * kLeast[j];
      a[i][3] += row[i] * target;
    }
  }
  // A diagonal that all but vanishes in elimination means that the columns cannot be told apart.
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t r = 0; r < 3; ++r) {
      if (r == i) continue;
      if (!(std::abs(a[i][i]) > 0)) return false;
      const double f = a[r][i] / a[i][i], before = a[r][r];
      for (std::size_t c = i; c < 4; ++c) a[r][c] -= f * a[i][c];
      if (r > i && !(a[r][r] > 1e-10 * before)) return false;
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    x[i] = a[i][3] / a[i][i];
    if (!(x[i] >= kLeast[i])) return false;
  }
  return true;
}

Candidate best_for(const std::vector<MeasuredCollective>& measured, double q) {
  std::vector<Vector> rows;
  rows.reserve(measured.size());
  for (const MeasuredCollective& m : measured) rows.push_back(row_of(m, q));
  Candidate best;
  for (unsigned free = 0; free < 8; ++free) {
    Vector x;
    if (!solve_face(rows, free, x)) continue;
    double loss = 0;
    for (const Vector& row : rows) {
      const double error = row[0] * x[0] + row[1] * x[1] + row[2] * x[2] - 1;
      loss += error * error;
    }
    if (loss < best.loss) best = {x, loss};
  }
  return best;
}

}  // namespace

NcclNumbers fit_numbers(const std::vector<MeasuredCollective>& measured) {
  NEREUS_CHECK(!measured.empty(), "a fit needs measurements");
  for (const MeasuredCollective& m : measured)
    NEREUS_CHECK(m.seconds > 0 && m.call.num_ranks >= 2, "a measurement takes time");
  // The latency of a step: none, or 10 ns to 100 us, with a grid of five values per factor of ten,
  // then a golden-section search around the best.
  double best_q = 0;
  double best_loss = best_for(measured, 0).loss;
  const auto try_q = [&](double log_q) {
    const double q = std::exp(log_q), loss = best_for(measured, q).loss;
    if (loss < best_loss) best_loss = loss, best_q = q;
    return loss;
  };
  const double first = std::log(1e-8), cell = std::log(10.0) / 5;
  int best_cell = 0;
  double grid_loss = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= 20; ++i)
    if (const double loss = try_q(first + i * cell); loss < grid_loss)
      grid_loss = loss, best_cell = i;
  double low = first + (best_cell - 1) * cell, high = low + 2 * cell;
  const double golden = (std::sqrt(5.0) - 1) / 2;
  for (int i = 0; i < 60; ++i) {
    const double a = high - golden * (high - low), b = low + golden * (high - low);
    if (try_q(a) <= try_q(b))
      high = b;
    else
      low = a;
  }
  const Vector x = best_for(measured, best_q).x;
  return {x[0], 1 / x[1], best_q * x[1], x[2] / x[1]};
}

double mean_abs_error(const NcclNumbers& numbers, const std::vector<MeasuredCollective>& measured) {
  double sum = 0;
  for (const MeasuredCollective& m : measured)
    sum += std::abs(collective_seconds(numbers, m.call) / m.seconds - 1);
  return sum / static_cast<double>(measured.size());
}

std::optional<double> leave_one_size_out(const std::vector<MeasuredCollective>& measured) {
  std::set<double> sizes;
  for (const MeasuredCollective& m : measured) sizes.insert(m.call.bytes);
  if (sizes.size() < 2) return std::nullopt;
  double sum = 0;
  for (const double size : sizes) {
    std::vector<MeasuredCollective> seen, unseen;
    for (const MeasuredCollective& m : measured)
      (m.call.bytes == size ? unseen : seen).push_back(m);
    sum += mean_abs_error(fit_numbers(seen), unseen) * static_cast<double>(unseen.size());
  }
  return sum / static_cast<double>(measured.size());
}

}  // namespace nereus::simulate
