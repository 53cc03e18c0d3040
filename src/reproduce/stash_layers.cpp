#include "reproduce/stash_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/format.hpp"
#include "base/median.hpp"
#include "calibrate/solve.hpp"
#include "reproduce/stash_claims.hpp"

namespace nereus::app {

namespace {

constexpr std::size_t kTerms = 3;
constexpr double kUnits[kTerms] = {1e-5, 1e-10, 1};  // so that coefficients are near one
using Terms = std::array<double, kTerms>;
using Points = std::vector<const LayerPoint*>;

Terms terms_of(const LayerPoint& point) {
  return {point.tensors * kUnits[0], point.bytes * kUnits[1], -point.backward * kUnits[2]};
}

// Least squares with only the terms in `chosen` (one bit each).
Terms solve_chosen(const Points& points, unsigned chosen) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < kTerms; ++i)
    if ((chosen >> i & 1U) != 0) places.push_back(i);
  const std::size_t n = places.size();
  std::vector<double> a(n * n, 0), b(n, 0);
  for (const LayerPoint* point : points) {
    const Terms x = terms_of(*point);
    const double weight = 1 / (point->step * point->step);
    for (std::size_t i = 0; i < n; ++i) {
      b[i] += weight * x[places[i]] * point->stall;
      for (std::size_t j = 0; j < n; ++j) a[i * n + j] += weight * x[places[i]] * x[places[j]];
    }
  }
  const std::vector<double> solved = calibrate::solve_damped(a, b, 1e-12);
  Terms out{};
  for (std::size_t i = 0; i < n; ++i) out[places[i]] = solved[i];
  return out;
}

LayerModel model_of(const Terms& solved, double least) {
  return {solved[0] * kUnits[0], solved[1] * kUnits[1], solved[2] * kUnits[2], least};
}

double loss_of(const LayerModel& model, const Points& points) {
  double sum = 0;
  for (const LayerPoint* point : points) {
    const double off = (model.stall(*point) - point->stall) / point->step;
    sum += off * off;
  }
  return sum;
}

// The best coefficients that are not negative: of three terms every choice can be tried.
LayerModel solve_non_negative(const Points& points, double least) {
  LayerModel best{0, 0, 0, least};
  double best_loss = loss_of(best, points);
  for (unsigned chosen = 1; chosen < 1U << kTerms; ++chosen) {
    const Terms solved = solve_chosen(points, chosen);
    if (*std::min_element(solved.begin(), solved.end()) < 0) continue;
    const LayerModel own = model_of(solved, least);
    const double loss = loss_of(own, points);
    if (loss < best_loss) {
      best = own;
      best_loss = loss;
    }
  }
  return best;
}

double rising(const LayerModel& model, const LayerPoint& point) {
  return model.per_tensor * point.tensors + model.per_byte * point.bytes -
         model.hidden * point.backward;
}

LayerModel fit(const Points& all) {
  LayerModel best;
  double best_loss = std::numeric_limits<double>::infinity();
  for (const LayerPoint* own : all) {
    const double least = own->stall;
    Points above;
    for (const LayerPoint* point : all)
      if (point->stall >= least) above.push_back(point);
    constexpr int kRounds = 20;
    for (int i = 0; i < kRounds; ++i) {
      const LayerModel model = solve_non_negative(above, least);
      const double loss = loss_of(model, all);
      if (loss < best_loss) {
        best = model;
        best_loss = loss;
      }
      Points next;
      for (const LayerPoint* point : all)
        if (rising(model, *point) > least) next.push_back(point);
      if (next == above || next.empty()) break;
      above = next;
    }
  }
  return best;
}

double error_of(const LayerModel& model, const LayerPoint& point) {
  return std::abs(model.stall(point) - point.stall) / point.step;
}

}  // namespace

double LayerModel::stall(const LayerPoint& point) const {
  return std::max(least, rising(*this, point));
}

std::vector<StashNetwork> layer_study_networks() {
  std::vector<StashNetwork> networks;
  for (const Norms norms : {Norms::kAll, Norms::kNone})
    for (const int depth : {10, 12, 16, 18, 34, 50, 101, 152}) {
      networks.push_back(stash_network(fmt::format("resnet{}", depth), norms));
      if (norms == Norms::kNone) networks.back().name += " without norms";
    }
  for (const char* kind : {"", "-bn"})
    for (const int depth : {11, 13, 16, 19})
      networks.push_back(stash_network(fmt::format("vgg{}{}", depth, kind)));
  return networks;
}

LayerFit fit_points(std::vector<LayerPoint> points) {
  LayerFit out;
  out.points = std::move(points);
  Points all;
  for (const LayerPoint& own : out.points) all.push_back(&own);
  out.model = fit(all);
  std::vector<double> errors, left_out;
  for (const LayerPoint& own : out.points) {
    errors.push_back(error_of(out.model, own));
    out.hidden_networks += rising(out.model, own) <= out.model.least ? 1 : 0;
    Points others;
    for (const LayerPoint* other : all)
      if (other != &own) others.push_back(other);
    left_out.push_back(error_of(fit(others), own));
    if (left_out.back() < out.left_out_worst_error) continue;
    out.left_out_worst_error = left_out.back();
    out.worst = own.name;
  }
  out.median_error = median(errors);
  out.left_out_median_error = median(left_out);
  return out;
}

LayerFit fit_layers(const std::vector<StashNetwork>& networks, const StashMachine& machine,
                    const StashOptions& options, int batch) {
  std::vector<LayerPoint> points;
  for (const StashNetwork& net : networks) {
    const StashStep step = stash_step(net, machine, options, batch);
    points.push_back({net.name, static_cast<double>(net.tensors.size()),
                      net.parameters() * options.gradient_bytes, step.backward, step.stall,
                      step.all()});
  }
  return fit_points(std::move(points));
}

void add_stash_layers(StashClaims& claims) {
  const std::vector<StashNetwork> networks = layer_study_networks();
  constexpr int kBatch = 32;
  for (const char* name : {"p3.16xlarge", "2xp3.8xlarge"})
    for (const Sums sums : claims.wanted_sums())
      for (const Links links : claims.wanted_links()) {
        if (claims.stopped()) return;
        const StashMachine machine = stash_machine(name);
        // Between two machines the network decides, whatever is inside.
        if (machine.count > 1 && links != claims.wanted_links().front()) continue;
        const LayerFit fit = fit_layers(networks, machine, claims.options(sums, links), kBatch);
        const LayerModel& model = fit.model;
        Claim& claim = claims.add(
            fmt::format("{}, {}, {} links: stalls by tensors and bytes, median error in % of the "
                        "step",
                        name, sums == Sums::kBuckets ? "buckets" : "one all-reduce per tensor",
                        to_string(links)),
            "layers",
            fmt::format(" --set all.sums={} --set all.links={}", to_string(sums),
                        to_string(links)));
        claim.ours = 100 * fit.left_out_median_error;
        claim.note = fmt::format(
            "stall = max({} ms, {} us per tensor + {} ms per MB - {} of backward), the least for "
            "{} of "
            "{} networks; each predicted from the others (worst {:.1f} %, {}), {:.2f} % as fitted",
            format_significant(model.least * 1e3), format_significant(model.per_tensor * 1e6),
            format_significant(model.per_byte * 1e9), format_significant(model.hidden),
            fit.hidden_networks, fit.points.size(), 100 * fit.left_out_worst_error, fit.worst,
            100 * fit.median_error);
      }
}

}  // namespace nereus::app
