// Checker: every sample of the global batch is computed once by every run, and runs agree on the
// order of micro-batches.
#include <fmt/format.h>

#include "base/format.hpp"
#include "plan/check_internal.hpp"

namespace nereus::plan::checking {

namespace {

// Whether two runs distribute samples equally, on any ranks.
bool same_samples(const Replicas& a, const Replicas& b) {
  return a.count == b.count && a.micro_batch == b.micro_batch &&
         a.num_micro_batches == b.num_micro_batches &&
         a.samples_per_team() == b.samples_per_team() && a.first_sample == b.first_sample &&
         a.team_step() == b.team_step() && a.micro_batch_step() == b.micro_batch_step();
}

}  // namespace

void WorkChecker::check_samples(std::size_t index) {
  const std::vector<LayerRun>& runs = facts_.placement.runs;
  // Most runs hand out samples as the one before: nothing new to look at.
  if (last_sound_run_ > 0) {
    const auto& before = runs[last_sound_run_ - 1].replicas;
    const auto& now = runs[index].replicas;
    if (std::equal(before.begin(), before.end(), now.begin(), now.end(), same_samples)) return;
  }
  std::vector<int> micro_batch_of(static_cast<std::size_t>(facts_.placement.global_batch), -1);
  if (!fill_micro_batches(index, micro_batch_of)) return;
  if (last_sound_run_ > 0) check_order(index, micro_batch_of);
  micro_batch_of_ = std::move(micro_batch_of);
  last_sound_run_ = index + 1;
}

// Writes the micro-batch number of every sample; reports samples that are computed twice or never.
bool WorkChecker::fill_micro_batches(std::size_t index, std::vector<int>& micro_batch_of) {
  const LayerRun& run = facts_.placement.runs[index];
  const std::int64_t batch = facts_.placement.global_batch;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < run.replicas.size(); ++i) {
    const Replicas& r = run.replicas[i];
    total = plus(total, times(r.samples_per_team(), r.count));
    const Reach reach = Reach(r.first_sample)
                            .stride(r.team_step(), r.count)
                            .stride(r.micro_batch_step(), r.num_micro_batches);
    if (reach.within(0, batch)) continue;
    report_.add("plan.samples",
                fmt::format("{}: micro-batches start at samples {} .. {}, but the global batch has "
                            "samples 0 .. {}",
                            replicas_name(facts_.placement, index, i), reach.least, reach.greatest,
                            batch - 1));
    return false;
  }
  if (total != batch) {
    report_.add("plan.samples",
                fmt::format("{} computes {}, but the global batch is {}",
                            run_name(facts_.placement, index), counted(total, "sample"), batch));
    return false;
  }
  for (std::size_t i = 0; i < run.replicas.size(); ++i) {
    const Replicas& r = run.replicas[i];
    for (int team = 0; team < r.count; ++team)
      for (int m = 0; m < r.num_micro_batches; ++m) {
        const std::int64_t first = r.first_sample_of(team, m);
        for (std::int64_t s = first; s < first + r.samples_in(m); ++s) {
          if (s >= batch || micro_batch_of[s] >= 0) {
            // The sum is right, so a sample twice (or outside) also means another one never.
            report_.add("plan.samples",
                        fmt::format("{}: sample {} (team {}, micro-batch {}) {}",
                                    replicas_name(facts_.placement, index, i), s, team, m,
                                    s >= batch ? "is not in the global batch"
                                               : "is computed a second time, another one never"));
            return false;
          }
          micro_batch_of[s] = m;
        }
      }
  }
  return true;
}

void WorkChecker::check_order(std::size_t index, const std::vector<int>& now) {
  // For each micro-batch number of the previous run: the smallest and largest number that its
  // samples have here. These ranges must not go back.
  const int most = *std::max_element(micro_batch_of_.begin(), micro_batch_of_.end());
  std::vector<int> least(static_cast<std::size_t>(most) + 1, std::numeric_limits<int>::max());
  std::vector<int> greatest(least.size(), -1);
  for (std::size_t s = 0; s < now.size(); ++s) {
    const auto before = static_cast<std::size_t>(micro_batch_of_[s]);
    least[before] = std::min(least[before], now[s]);
    greatest[before] = std::max(greatest[before], now[s]);
  }
  int reached = -1;
  for (std::size_t m = 0; m < least.size(); ++m) {
    if (greatest[m] < 0) continue;
    if (least[m] < reached) {
      report_.add(
          "plan.micro-batch-order",
          fmt::format("{}: a sample of micro-batch {} of run {} is in micro-batch {} here, behind "
                      "one of an earlier micro-batch that is in {}",
                      run_name(facts_.placement, index), m, last_sound_run_ - 1, least[m], reached),
          "hand out samples micro-batch by micro-batch (team_sample_stride, micro_batch_stride)");
      return;
    }
    reached = std::max(reached, greatest[m]);
  }
}

}  // namespace nereus::plan::checking
