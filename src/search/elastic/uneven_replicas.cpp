#include "search/elastic/uneven_replicas.hpp"

#include "base/error.hpp"
#include "predict/general/general_predictor.hpp"

namespace nereus::elastic {

namespace {

// `count` teams from team `from` of a regular group on, with their own number of micro-batches.
plan::Replicas part_of(const plan::Replicas& all, int from, int count, int micro_batches,
                       std::int64_t first_sample) {
  plan::Replicas out = all;
  out.first = all.first + from * all.team_stride;
  out.count = count;
  out.num_micro_batches = micro_batches;
  out.last_micro_batch = 0;
  out.first_sample = first_sample;
  out.team_sample_stride = 0;  // teams and micro-batches follow one another
  out.micro_batch_stride = 0;
  return out;
}

}  // namespace

plan::Placement uneven_placement(const SpotPlan& plan, const SpotProblem& problem) {
  const plan::Degrees& d = plan.degrees;
  plan::Placement out = cost::expand_for(d, problem.model, problem.basis.stack);
  const int most = d.num_micro_batches();
  const int full = d.dp - plan.short_replicas;
  const int all = d.dp * most - plan.short_replicas;                  // micro-batches of the step
  const int left = problem.global_batch - (all - 1) * d.micro_batch;  // samples of the last
  NEREUS_CHECK(left >= 1 && left <= d.micro_batch, "the last micro-batch is not empty");
  out.global_batch = problem.global_batch;
  for (plan::LayerRun& run : out.runs) {
    NEREUS_CHECK(run.replicas.size() == 1 && run.replicas.front().count == d.dp,
                 "a regular plan has one group of replicas");
    const plan::Replicas regular = run.replicas.front();
    run.replicas.clear();
    std::int64_t sample = 0;
    int team = 0;
    const auto add = [&](int count, int micro_batches, int last) {
      if (count == 0) return;
      run.replicas.push_back(part_of(regular, team, count, micro_batches, sample));
      if (last < d.micro_batch) run.replicas.back().last_micro_batch = last;
      team += count;
      sample += count * run.replicas.back().samples_per_team();
    };
    // The last team is separate if its last micro-batch is smaller.
    const bool alone = left < d.micro_batch;
    const bool short_last = plan.short_replicas > 0;
    add(full - (alone && !short_last ? 1 : 0), most, d.micro_batch);
    add(plan.short_replicas - (alone && short_last ? 1 : 0), most - 1, d.micro_batch);
    if (alone) add(1, short_last ? most - 1 : most, left);
  }
  return out;
}

}  // namespace nereus::elastic
