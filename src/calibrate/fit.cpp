#include "calibrate/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/parallel.hpp"
#include "calibrate/evaluate_runs.hpp"
#include "calibrate/solve.hpp"

namespace nereus::calibrate {

namespace {

constexpr double kScale = 0.03;  // transition of the loss from quadratic to absolute

using cost::FreeNumber;
using cost::ParameterInfo;
using cost::StackLibrary;

// Works in ln(value) if zero is not allowed, else in the value itself.
struct Coordinate {
  FreeNumber number;
  const ParameterInfo* info;
  bool logarithmic;
  std::vector<FreeNumber> followers;  // move with it

  double from_value(double value) const {
    return logarithmic ? std::log(std::max(value, 1e-300)) : value;
  }
  double to_value(double x) const {
    return std::clamp(logarithmic ? std::exp(x) : x,
                      std::max(info->low, logarithmic ? 1e-12 : info->low), info->high);
  }
  // The value of a follower where this number's coordinate is x.
  double follow(const FreeNumber& follower, double x) const {
    return to_value(from_value(follower.prior) + x - from_value(number.prior));
  }
  void set(StackLibrary& library, double x) const {
    library.set(number.scope, number.parameter, to_value(x));
    for (const FreeNumber& follower : followers)
      library.set(follower.scope, follower.parameter, follow(follower, x));
  }
  bool applies(const StackLibrary& library, const Run& run) const {
    const std::string& device = run.cluster.groups.front().node.device.short_name;
    const auto in = [&](const FreeNumber& n) {
      return library.applies(n.scope, device, run.stack, run.site);
    };
    return in(number) || std::any_of(followers.begin(), followers.end(), in);
  }
};

double row_weight(std::size_t rows_in_set, std::size_t rows_in_largest) {
  return std::min(
      4.0, std::sqrt(static_cast<double>(rows_in_largest) / static_cast<double>(rows_in_set)));
}

class Problem {
 public:
  Problem(const StackLibrary& library, const std::vector<const Run*>& runs, Target target,
          const FitOptions& options)
      : library_(library), target_(target), options_(options) {
    std::map<std::string, std::size_t> sizes;
    for (const Run* run : runs) {
      if (run->plan_assumed()) continue;
      if (target == Target::kStepTime ? run->failed || !run->suspect.empty() : run->memory <= 0)
        continue;
      runs_.push_back(run);
      ++sizes[run->set];
    }
    std::size_t largest = 1;
    for (const auto& [set, size] : sizes) largest = std::max(largest, size);
    for (const Run* run : runs_) weights_.push_back(row_weight(sizes[run->set], largest));
    for (const FreeNumber& number : library.free) {
      if (decides_memory(number.parameter) != (target == Target::kMemory)) continue;
      const ParameterInfo* info = cost::find_parameter(number.parameter);
      coordinates_.push_back(
          {number, info, (number.from_parent || number.prior > 0) && !may_be_zero(*info), {}});
      for (const LinkedNumber& link : options.links)
        if (link.leader == number) coordinates_.back().followers.push_back(link.follower);
    }
    start();
  }

  // Drops numbers that too few rows say anything about, then iterates.
  FitResult solve() {
    drop_uninformed();
    std::vector<double> residuals = evaluate();
    double objective = loss(residuals);
    double damping = 1e-2;
    int iteration = 0;
    for (; iteration < options_.max_iterations; ++iteration) {
      if (options_.stop && options_.stop()) break;
      build_normal_equations(residuals);
      bool better = false;
      double gain = 0;
      for (int attempt = 0; attempt < 10 && !better; ++attempt) {
        const std::vector<double> before = x_;
        move(solve_damped(normal_, gradient_, damping));
        std::vector<double> trial = evaluate();
        const double value = loss(trial);
        better = value < objective - 1e-12;
        if (better) {
          gain = (objective - value) / objective;
          objective = value;
          residuals = std::move(trial);
          damping = std::max(1e-7, damping / 4);
        } else {
          x_ = before;
          apply();
          damping *= 6;
        }
      }
      if (options_.on_iteration) options_.on_iteration(iteration, objective);
      if (!better || gain < options_.least_gain) break;
    }
    return result(residuals, objective, iteration);
  }

 private:
  static bool may_be_zero(const ParameterInfo& info) {
    return info.unit.empty() && info.low == 0 && info.high <= 1;
  }

  void start() {
    x_.clear();
    for (const Coordinate& c : coordinates_) {
      double* set = library_.find(c.number.scope, c.number.parameter);
      const bool at_prior = options_.start_at_priors || set == nullptr;
      if (at_prior) library_.unset(c.number.scope, c.number.parameter);
      x_.push_back(at_prior ? prior_of(c) : c.from_value(*set));
      library_.set(c.number.scope, c.number.parameter, c.to_value(x_.back()));
    }
    apply();
  }

  // Where the number would be if its runs told nothing.
  double prior_of(const Coordinate& c) const {
    return c.from_value(c.number.from_parent
                            ? library_.inherited(c.number.scope, c.number.parameter)
                            : c.number.prior);
  }

  // The free number that a number's prior is taken from; none if it has a prior of its own, or if
  // what it would inherit is not fitted. With it, the runs of all children say what the parent is.
  std::optional<std::size_t> parent_of(std::size_t j) const {
    const FreeNumber& own = coordinates_[j].number;
    if (!own.from_parent) return {};
    for (const cost::Scope& scope : library_.ancestors(own.scope)) {
      for (std::size_t i = 0; i < coordinates_.size(); ++i)
        if (coordinates_[i].number.scope == scope &&
            coordinates_[i].number.parameter == own.parameter)
          return i;
      if (library_.sets(scope, own.parameter)) return {};
    }
    return {};
  }

  void apply() {
    for (std::size_t j = 0; j < coordinates_.size(); ++j) coordinates_[j].set(library_, x_[j]);
  }

  void move(const std::vector<double>& step) {
    for (std::size_t j = 0; j < x_.size(); ++j) {
      const Coordinate& c = coordinates_[j];
      const double limit = c.logarithmic ? 1.0 : 0.3;
      x_[j] = c.from_value(c.to_value(x_[j] + std::clamp(step[j], -limit, limit)));
    }
    apply();
  }

  double residual(const StackLibrary& library, const Run& run) const {
    const cost::Prediction p = predict(run, library);
    if (target_ == Target::kStepTime) return std::log(p.step / run.step);
    return memory_error(run, p, library);
  }

  std::vector<double> evaluate() const {
    std::vector<double> residuals(runs_.size());
    parallel_for(runs_.size(),
                 [&](std::size_t i) { residuals[i] = residual(library_, *runs_[i]); });
    return residuals;
  }

  double loss(const std::vector<double>& residuals) const {
    double sum = 0;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      const double z = residuals[i] / kScale;
      sum += weights_[i] * kScale * (std::sqrt(1 + z * z) - 1);
    }
    for (std::size_t j = 0; j < x_.size(); ++j) {
      const double z = (x_[j] - prior_of(coordinates_[j])) / coordinates_[j].number.spread;
      sum += options_.prior_weight * z * z;
    }
    return sum;
  }

  // d residual / d x_j of every row, by a forward difference.
  std::vector<std::vector<double>> jacobian(const std::vector<double>& base,
                                            double relative) const {
    std::vector<std::vector<double>> columns(x_.size());
    parallel_for(x_.size(), [&](std::size_t j) {
      const Coordinate& c = coordinates_[j];
      StackLibrary moved = library_;
      double h = c.logarithmic ? relative : relative * std::max(0.1, c.number.spread);
      if (c.to_value(x_[j] + h) == c.to_value(x_[j])) h = -h;  // at its upper bound
      c.set(moved, x_[j] + h);
      columns[j].assign(runs_.size(), 0.0);
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        const Run& run = *runs_[i];
        if (!c.applies(library_, run)) continue;
        columns[j][i] = (residual(moved, run) - base[i]) / h;
      }
    });
    return columns;
  }

  void drop_uninformed() {
    const std::vector<std::vector<double>> columns = jacobian(evaluate(), 0.1);
    std::vector<int>
        told;  // rows that tell something about a number, or about one that inherits it
    for (const std::vector<double>& column : columns)
      told.push_back(static_cast<int>(std::count_if(
          column.begin(), column.end(), [](double d) { return std::abs(d) * 0.1 > 0.002; })));
    for (std::size_t j = coordinates_.size(); j-- > 0;)
      if (const auto parent = parent_of(j)) told[*parent] += told[j];
    std::vector<Coordinate> kept;
    std::vector<double> kept_x;
    for (std::size_t j = 0; j < coordinates_.size(); ++j) {
      const int rows = told[j];
      rows_.push_back(rows);
      all_.push_back(coordinates_[j]);
      // A prior from the parent keeps what few rows support near it.
      const int least =
          coordinates_[j].number.from_parent ? std::min(3, options_.min_rows) : options_.min_rows;
      if (rows < least) {
        // It gets its prior, which has a source of its own, or its ancestors' value, unless the fit
        // goes on from values that others settled.
        const FreeNumber& number = coordinates_[j].number;
        if (!options_.keep_uninformed && number.from_parent)
          library_.unset(number.scope, number.parameter);
        else if (!options_.keep_uninformed)
          coordinates_[j].set(library_, coordinates_[j].from_value(number.prior));
        continue;
      }
      kept.push_back(coordinates_[j]);
      kept_x.push_back(x_[j]);
    }
    coordinates_ = std::move(kept);
    x_ = std::move(kept_x);
  }

  void build_normal_equations(const std::vector<double>& residuals) {
    const std::size_t n = x_.size();
    const std::vector<std::vector<double>> columns = jacobian(residuals, 1e-3);
    normal_.assign(n * n, 0);
    gradient_.assign(n, 0);
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      const double z = residuals[i] / kScale;
      const double weight = weights_[i] / (kScale * std::sqrt(1 + z * z));
      for (std::size_t j = 0; j < n; ++j) {
        if (columns[j][i] == 0) continue;
        gradient_[j] -= weight * columns[j][i] * residuals[i];
        for (std::size_t k = 0; k < n; ++k)
          normal_[j * n + k] += weight * columns[j][i] * columns[k][i];
      }
    }
    for (std::size_t j = 0; j < n; ++j) {
      const Coordinate& c = coordinates_[j];
      const double precision = 2 * options_.prior_weight / (c.number.spread * c.number.spread);
      const double pull = precision * (x_[j] - prior_of(c));
      normal_[j * n + j] += precision;
      gradient_[j] -= pull;
      if (const auto parent = parent_of(j)) {
        normal_[*parent * n + *parent] += precision;
        normal_[j * n + *parent] -= precision;
        normal_[*parent * n + j] -= precision;
        gradient_[*parent] += pull;
      }
    }
    for (std::size_t j = 0; j < n; ++j)
      if (leaves_range(j)) hold(j);
  }

  // Whether a number is at an end of its range and the loss pulls it outward.
  bool leaves_range(std::size_t j) const {
    const Coordinate& c = coordinates_[j];
    const double outward = gradient_[j] > 0 ? 1e-6 : -1e-6;
    return gradient_[j] != 0 && c.to_value(x_[j] + outward) == c.to_value(x_[j]);
  }

  // Keeps this number fixed; otherwise the step of all other numbers would assume a change that its
  // range forbids.
  void hold(std::size_t j) {
    const std::size_t n = x_.size();
    for (std::size_t k = 0; k < n; ++k)
      if (k != j) normal_[j * n + k] = normal_[k * n + j] = 0;
    gradient_[j] = 0;
  }

  FitResult result(const std::vector<double>& residuals, double objective, int iterations) {
    build_normal_equations(residuals);
    double sum = 0;
    double total = 0;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      sum += weights_[i] * std::abs(residuals[i]);
      total += weights_[i];
    }
    // The loss is about w |r|: if residuals have a mean size s, its curvature in standard units is
    // 1 / s.
    const double noise = total > 0 ? sum / total : kScale;
    const std::vector<double> variance = inverse_diagonal(normal_, x_.size());
    FitResult out;
    out.objective = objective;
    out.iterations = iterations;
    std::size_t kept = 0;
    for (std::size_t j = 0; j < all_.size(); ++j) {
      const Coordinate& c = all_[j];
      FittedNumber number{c.number, 0, 0, 0, rows_[j], false, false};
      const bool fitted = kept < coordinates_.size() && coordinates_[kept].number == c.number;
      const double* set = library_.find(c.number.scope, c.number.parameter);
      const double x = fitted ? x_[kept]
                       : set != nullptr
                           ? c.from_value(*set)
                           : c.from_value(library_.inherited(c.number.scope, c.number.parameter));
      const double deviation =
          fitted ? 2 * std::sqrt(std::max(0.0, variance[kept] * noise)) : 2 * c.number.spread;
      number.value = c.to_value(x);
      number.low = c.to_value(x - deviation);
      number.high = c.to_value(x + deviation);
      number.fitted = fitted;
      number.at_bound =
          fitted && (number.value <= c.info->low * 1.0001 || number.value >= c.info->high * 0.9999);
      if (fitted) {
        library_.set(c.number.scope, c.number.parameter, number.value);
        keep_range(number);
      }
      out.numbers.push_back(number);
      for (const FreeNumber& follower : c.followers) {
        number.number = follower;
        number.value = c.follow(follower, x);
        number.low = c.follow(follower, x - deviation);
        number.high = c.follow(follower, x + deviation);
        if (fitted) keep_range(number);
        out.numbers.push_back(number);
      }
      if (fitted) ++kept;
    }
    out.library = library_;
    return out;
  }

  void keep_range(const FittedNumber& n) {
    library_.ranges[to_string(n.number.scope) + "." + n.number.parameter] = {n.low, n.high, n.rows};
  }

  StackLibrary library_;
  Target target_;
  FitOptions options_;
  std::vector<const Run*> runs_;
  std::vector<double> weights_;
  std::vector<Coordinate> coordinates_;
  std::vector<double> x_;
  std::vector<Coordinate> all_;
  std::vector<int> rows_;
  std::vector<double> normal_;
  std::vector<double> gradient_;
};

}  // namespace

bool decides_memory(std::string_view parameter) {
  constexpr std::string_view kNames[] = {"memory_fixed",  "memory_slack",    "activation_copies",
                                         "logits_copies", "gathered_inputs", "pipeline_layers",
                                         "buffer_bytes"};
  return std::find(std::begin(kNames), std::end(kNames), parameter) != std::end(kNames);
}

FitResult fit(const StackLibrary& library, const std::vector<const Run*>& runs, Target target,
              const FitOptions& options) {
  return Problem(library, runs, target, options).solve();
}

FitResult fit_all(const StackLibrary& library, const std::vector<const Run*>& runs,
                  const FitOptions& options) {
  FitResult memory = fit(library, runs, Target::kMemory, options);
  FitResult time = fit(memory.library, runs, Target::kStepTime, options);
  time.numbers.insert(time.numbers.end(), memory.numbers.begin(), memory.numbers.end());
  time.objective += memory.objective;
  time.iterations += memory.iterations;
  return time;
}

}  // namespace nereus::calibrate
