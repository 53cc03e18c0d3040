#include "search/elastic/spot.hpp"

#include <algorithm>
#include <vector>

#include "simulate/step.hpp"

namespace nereus::elastic {

namespace {

using plan::Degrees;
using plan::Recompute;
using plan::Schedule;

int blocks_of(const model::Model& model) {
  return model.transformer ? model.transformer->layers : static_cast<int>(model.layers.size());
}

int rounded_up(int a, int b) { return (a + b - 1) / b; }

// The sizes of micro-batch that differ: the least that makes k of them do, for every k.
std::vector<int> micro_batches(int share) {
  std::vector<int> out;
  for (int m = 1; m <= share;
       m = rounded_up(share, m) > 1 ? rounded_up(share, rounded_up(share, m) - 1) : share + 1)
    out.push_back(m);
  return out;
}

// The layout with p stages, that many replicas, and micro-batches of m, as full as the fullest
// replica; without replicas that have no work.
Degrees layout(const SpotProblem& problem, int tp, int pp, int replicas, int micro_batch) {
  Degrees d;
  d.tp = tp;
  d.pp = pp;
  d.precision = problem.precision;
  d.micro_batch = micro_batch;
  const int all = rounded_up(problem.global_batch, micro_batch);
  d.dp = std::min(replicas, all);
  d.global_batch = d.dp * micro_batch * rounded_up(all, d.dp);
  return d;
}

double play(const SpotProblem& problem, cost::Predictor& predictor, const Degrees& degrees) {
  const simulate::SimulatedStep step = simulate::simulate_step(
      predictor.work(degrees), {.order = {}, .jitter = problem.jitter, .num_steps = problem.steps});
  double sum = 0;
  for (const double own : step.steps) sum += own;
  return sum / static_cast<double>(step.steps.size());
}

SpotPlan finished(const SpotProblem& problem, const Degrees& degrees,
                  const cost::Prediction& prediction, int samples) {
  SpotPlan out;
  out.degrees = degrees;
  out.prediction = prediction;
  out.samples = samples;
  out.idle = problem.cluster.num_devices() - degrees.num_ranks();
  const int all = rounded_up(problem.global_batch, degrees.micro_batch);
  out.short_replicas = degrees.dp * degrees.num_micro_batches() - all;
  return out;
}

class Search {
 public:
  explicit Search(const SpotProblem& problem)
      : problem_(problem),
        predictor_(problem.model, problem.cluster, problem.basis),
        blocks_(blocks_of(problem.model)) {}

  SpotResult run() {
    // Splitting layers over machines is for models of which no machine holds one.
    const int devices = problem_.cluster.num_devices();
    const int inside = problem_.cluster.groups.front().node.num_devices;
    for (int tp = 1; tp <= std::min(devices, std::max(inside, kept_.empty() ? 16 : 1)); tp *= 2) {
      if (problem_.model.transformer && problem_.model.transformer->heads % tp != 0) break;
      for (int pp = std::min(blocks_, devices / tp); pp >= 1; --pp)
        // Fewer replicas too: on a slow network the sum over more may cost more than they bring.
        for (int replicas = devices / (tp * pp); replicas >= 1; replicas /= 2)
          for (const int m : micro_batches(rounded_up(problem_.global_batch, replicas)))
            if (!try_layout(tp, pp, replicas, m)) break;
      if (tp >= inside && !kept_.empty()) break;
    }
    add_rule();
    for (SpotPlan& own : kept_) own.simulated = play(problem_, predictor_, own.degrees);
    std::stable_sort(kept_.begin(), kept_.end(),
                     [](const auto& a, const auto& b) { return a.simulated < b.simulated; });
    out_.plans = std::move(kept_);
    return std::move(out_);
  }

 private:
  double worst() const { return kept_.back().prediction.step; }
  bool full() const { return static_cast<int>(kept_.size()) >= problem_.played; }

  // Whether a larger micro-batch is worth a look.
  bool try_layout(int tp, int pp, int replicas, int micro_batch) {
    Degrees d = layout(problem_, tp, pp, replicas, micro_batch);
    if (full() && predictor_.bound(d).step >= worst()) {
      ++out_.pruned;
      return true;
    }
    bool any_fits = false;
    for (const int zero : {0, 1}) {
      if (zero > 0 && (d.dp == 1 || problem_.whole_state)) break;
      d.zero = zero;
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        d.recompute = recompute;
        d.schedule = Schedule::k1f1b;
        const bool fits = consider(d);
        any_fits |= fits;
        // More recompute only saves memory, and costs time.
        if (fits) break;
      }
      d.recompute = Recompute::kFull;
      d.schedule = Schedule::kVaruna;
      if (pp > 1 && problem_.varuna_schedule) any_fits |= consider(d);
    }
    return any_fits;
  }

  // Whether it fits, as far as is known: what cannot be kept is not predicted to its end.
  bool consider(const Degrees& d) {
    if (full() && predictor_.bound_of_schedule(d).step >= worst()) {
      ++out_.pruned;
      return true;
    }
    ++out_.evaluated;
    const auto counts = [&](const cost::Prediction& p) { return !full() || p.step < worst(); };
    const cost::Predictor::Sketch sketch = predictor_.sketch(d, counts);
    if (!sketch.prediction.fits) return false;
    if (!sketch.exact || !counts(sketch.prediction)) return true;
    keep(finished(problem_, d, sketch.prediction, problem_.global_batch));
    return true;
  }

  void keep(SpotPlan plan) {
    const auto at = std::upper_bound(
        kept_.begin(), kept_.end(), plan,
        [](const SpotPlan& a, const SpotPlan& b) { return a.prediction.step < b.prediction.step; });
    kept_.insert(at, std::move(plan));
    if (static_cast<int>(kept_.size()) > problem_.played) kept_.pop_back();
  }

  // Varuna's own choice, with the whole batch: then no answer is behind it by the draw of jitter.
  void add_rule() {
    if (!problem_.varuna_schedule) return;
    const std::optional<SpotPlan> rule = varuna_rule(problem_);
    if (!rule) return;
    Degrees d = layout(problem_, 1, rule->degrees.pp, rule->degrees.dp, rule->degrees.micro_batch);
    d.recompute = Recompute::kFull;
    d.schedule = Schedule::kVaruna;
    const cost::Prediction prediction = predictor_.predict(d);
    if (prediction.fits) kept_.push_back(finished(problem_, d, prediction, problem_.global_batch));
  }

  const SpotProblem& problem_;
  cost::Predictor predictor_;
  int blocks_;
  std::vector<SpotPlan> kept_;  // best first, in closed form
  SpotResult out_;
};

}  // namespace

SpotResult search(const SpotProblem& problem) { return Search(problem).run(); }

std::optional<SpotPlan> varuna_rule(const SpotProblem& problem) {
  cost::Predictor predictor(problem.model, problem.cluster, problem.basis);
  const int blocks = blocks_of(problem.model);
  const int devices = problem.cluster.num_devices();
  std::optional<SpotPlan> best;
  for (int pp = 1; pp < blocks && pp <= devices; ++pp) {
    if (blocks % pp != 0) continue;
    Degrees d;
    d.pp = pp;
    d.dp = devices / pp;
    d.precision = problem.precision;
    d.recompute = Recompute::kFull;
    d.schedule = pp > 1 ? Schedule::kVaruna : Schedule::k1f1b;
    if (problem.global_batch < d.dp) continue;
    const int share = rounded_up(problem.global_batch, d.dp);
    const auto with = [&](int micro_batch) {
      d.micro_batch = micro_batch;
      d.global_batch = d.dp * micro_batch * rounded_up(share, micro_batch);
      return predictor.predict(d);
    };
    // The largest that fits, by bisection as Varuna has it.
    int low = 0, high = share + 1;
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      (with(middle).fits ? low : high) = middle;
    }
    if (low == 0) continue;
    const cost::Prediction prediction = with(low);
    SpotPlan own = finished(problem, d, prediction, problem.global_batch);
    own.simulated = play(problem, predictor, d);
    if (!best || own.seconds_per_sample() < best->seconds_per_sample()) best = own;
  }
  return best;
}

}  // namespace nereus::elastic
