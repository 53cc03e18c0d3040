#include "job/norm_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/format.hpp"
#include "model/cnn_recipe.hpp"

namespace nereus::job {

namespace {

using plan::LayerRun;
using plan::Replicas;

std::set<std::int64_t> micro_batch_sizes(const plan::Placement& placement) {
  std::set<std::int64_t> sizes;
  for (const LayerRun& run : placement.runs)
    for (const Replicas& r : run.replicas) {
      if (r.num_micro_batches > 1 || r.last_micro_batch <= 0) sizes.insert(r.micro_batch);
      if (r.last_micro_batch > 0) sizes.insert(r.last_micro_batch);
    }
  return sizes;
}

// The largest size below n and the smallest above that divide all micro-batches.
std::string valid_groups(std::int64_t n, const std::set<std::int64_t>& sizes) {
  const auto valid = [&](std::int64_t group) {
    return std::all_of(sizes.begin(), sizes.end(),
                       [&](std::int64_t size) { return size % group == 0; });
  };
  const std::int64_t most = *sizes.begin();
  std::string text;
  for (std::int64_t below = std::min(n - 1, most); below >= 1; --below)
    if (valid(below)) {
      text = fmt::format("--norm-group {}", below);
      break;
    }
  for (std::int64_t above = n + 1; above <= most; ++above)
    if (valid(above)) return fmt::format("{} or {}", text, above);
  return text;
}

void check_groups(const plan::Placement& placement, std::int64_t n, ErrorList& errors) {
  const std::set<std::int64_t> sizes = micro_batch_sizes(placement);
  for (const std::int64_t size : sizes) {
    if (size % n == 0) continue;
    errors.add("train.norm-group",
               fmt::format("a micro-batch of {} cannot be divided into BatchNorm groups of {}",
                           counted(size, "sample"), n),
               {},
               fmt::format("{}; or --micro-batch {}; or --norm sync", valid_groups(n, sizes),
                           (size / n + 1) * n));
    return;
  }
}

void check_sync(const plan::Placement& placement, const Training& training, ErrorList& errors) {
  if (training.norm_group > 0)
    errors.add("train.norm-group",
               "--norm sync normalises over what all data ranks compute at a time, so --norm-group "
               "means nothing",
               {}, "one of the two");
  if (placement.schedule == plan::Schedule::kDualPipe)
    errors.add("train.norm-sync",
               "under dualpipe the two ranks of a stage run it at different times, but --norm "
               "sync needs them at the same time",
               {}, "another schedule, or --norm group");
  for (const LayerRun& run : placement.runs) {
    const int count = run.replicas.front().num_micro_batches;
    for (const Replicas& r : run.replicas) {
      if (r.num_micro_batches == count) continue;
      errors.add("train.norm-sync",
                 fmt::format("ranks {} and {} have {} and {} micro-batches, but --norm sync needs "
                             "equal numbers",
                             run.replicas.front().first, r.first, count, r.num_micro_batches),
                 {}, "--norm group --norm-group N, or as many micro-batches on every rank");
      return;
    }
  }
}

// Samples of the smallest group.
std::int64_t smallest_group(const plan::Placement& placement, const Training& training) {
  const std::int64_t smallest = *micro_batch_sizes(placement).begin();
  if (training.norm == NormScope::kGroup)
    return training.norm_group > 0 ? training.norm_group : smallest;
  std::int64_t fewest_teams = std::numeric_limits<int>::max();
  for (const LayerRun& run : placement.runs) {
    std::int64_t teams = 0;
    for (const Replicas& r : run.replicas) teams += r.count;
    fewest_teams = std::min(fewest_teams, teams);
  }
  return smallest * fewest_teams;
}

}  // namespace

std::vector<Error> check_norm(const plan::Plan& plan, const Training& training) {
  ErrorList errors;
  if (!plan.model.cnn) return {};
  double positions = std::numeric_limits<double>::infinity();
  std::string smallest;
  for (const model::CnnLayer& layer : model::cnn_recipe(*plan.model.cnn)) {
    if (layer.norm.empty() || layer.out.positions() >= positions) continue;
    positions = layer.out.positions();
    smallest = layer.norm;
  }
  if (smallest.empty()) return {};

  if (training.norm == NormScope::kSync)
    check_sync(plan.placement, training, errors);
  else if (training.norm_group > 0)
    check_groups(plan.placement, training.norm_group, errors);
  if (errors.empty() && positions == 1 && smallest_group(plan.placement, training) == 1)
    errors.add("train.norm-one-value",
               fmt::format("{} normalises an image of one position over one sample, which is a "
                           "single number without variance",
                           smallest),
               {}, "a larger --micro-batch and --norm-group, --norm sync, or a larger image");
  return errors.list();
}

}  // namespace nereus::job
