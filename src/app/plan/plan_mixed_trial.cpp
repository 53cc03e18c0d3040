#include "app/plan/plan_mixed_trial.hpp"

#include <algorithm>

#include "app/plan/plan_mixed.hpp"
#include "app/predict/profiles.hpp"
#include "base/error.hpp"

namespace nereus::app {

namespace {

constexpr std::int64_t kMostManners = 1000;
constexpr std::int64_t kMostLeanest = 300;
constexpr double kLongest = 1e12;  // seconds

template <class T>
bool allows(const std::vector<T>& list, T value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

Inputs load(const PlanRequest& request) {
  Inputs inputs = load_inputs(request.model, request.seq, request.cluster, request.calibration);
  check_precision(inputs.basis, *request.precision);
  inputs.basis = inputs.basis.in_precision(*request.precision, request.choices.state_types);
  return inputs;
}

mixed::MixedOptions options_of(const PlanRequest& request, Manners manners) {
  mixed::MixedOptions options = mixed_options(request.choices, request.options);
  options.precision = *request.precision;
  options.state_types = request.choices.state_types;
  options.limit = kLongest;  // no rules of thumb for comparison
  if (manners == Manners::kQuickest) return options;
  options.recompute = {plan::Recompute::kFull};
  if (manners == Manners::kDivided) {
    options.zero = {3};
    options.pipelines = false;
  } else {
    options.micro_batches = {1};
    options.flat = false;
  }
  return options;
}

}  // namespace

bool allows(const search::Choices& c, Manners manners) {
  if (manners == Manners::kQuickest) return true;
  if (!allows(c.recompute, search::RecomputeChoice::kFull)) return false;
  if (manners == Manners::kDivided) return allows(c.zero, 3);
  return allows(c.micro_batch, 1) && (allows(c.zero, 0) || allows(c.zero, 1));
}

std::optional<mixed::MixedPlan> try_change(const PlanRequest& request,
                                           const std::vector<Manners>& manners,
                                           const std::optional<plan::Placement>& known) {
  std::optional<mixed::MixedPlan> best;
  try {
    const Inputs inputs = load(request);
    for (const Manners own : manners) {
      if (!allows(request.choices, own)) continue;
      mixed::MixedOptions options = options_of(request, own);
      if (known) options.known = {{"data parallel, sharded state", *known}};
      if (best) options.limit = best->prediction.step;
      std::int64_t judged = 0;
      const std::int64_t most = own == Manners::kQuickest ? kMostManners : kMostLeanest;
      options.progress = [&](std::int64_t done, std::int64_t, std::optional<double>) {
        judged = done;
      };
      options.stop = [&, given = request.options.stop] {
        return judged > most || (given && given());
      };
      mixed::MixedResult found = mixed::search(inputs.model, inputs.cluster, inputs.basis, options);
      if (!found.plans.empty() &&
          (!best || found.plans.front().prediction.step < best->prediction.step))
        best = std::move(found.plans.front());
    }
  } catch (const Errors&) {
    // A precision that the stack or the profiles do not have, say.
  }
  return best;
}

}  // namespace nereus::app
