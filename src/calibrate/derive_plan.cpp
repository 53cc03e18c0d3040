#include "calibrate/derive_plan.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "calibrate/evaluate_runs.hpp"
#include "plan/complete.hpp"
#include "plan/rules.hpp"

namespace nereus::calibrate {

namespace {

using plan::Degrees;
using plan::Recompute;

constexpr int kLargestMicroBatch = 1 << 16;

std::vector<int> powers_of_two(int most) {
  std::vector<int> values;
  for (int value = 1; value <= most && value > 0; value *= 2) values.push_back(value);
  return values;
}

class Candidates {
 public:
  Candidates(const Run& run, const Open& open, int gpus) : run_(run), open_(open), gpus_(gpus) {
    const cluster::Node& node = run.cluster.groups.front().node;
    const int within = std::min(std::max(1, node.num_devices), node.domain());
    tp_ =
        open.tp ? powers_of_two(run.model->transformer ? within : 1) : std::vector{run.degrees.tp};
    const int blocks = run.model->transformer ? run.model->transformer->layers : 1;
    pp_ = open.pp ? powers_of_two(blocks) : std::vector{run.degrees.pp};
  }

  // All plans with this recompute that the rules allow.
  std::vector<Degrees> with(Recompute recompute) const {
    std::vector<Degrees> plans;
    for (const int tp : tp_) {
      for (const int pp : pp_) {
        Degrees d = run_.degrees;
        const int others = tp * pp * d.cp;
        if (gpus_ % others != 0 || (open_.dp > 0 && gpus_ / others != open_.dp)) continue;
        d.tp = tp;
        d.pp = pp;
        d.dp = gpus_ / others;
        d.recompute = recompute;
        if (open_.tp) {
          d.sequence_parallel = tp > 1 && open_.sequence_parallel;
          d.tensor_overlap = tp > 1 && open_.tensor_overlap;
          if (open_.expert_tensor) d.expert_tp = tp;
        }
        add_batches(d, plans);
      }
    }
    return plans;
  }

 private:
  void add_batches(Degrees d, std::vector<Degrees>& plans) const {
    const int usual = plan::default_global_batch(*run_.model, run_.cluster);
    const int global = open_.global_batch ? usual : d.global_batch;
    const int share = std::max(1, global / d.dp);
    std::vector<int> sizes{d.micro_batch};
    if (open_.micro_batch)
      sizes = run_.model->table_layer() >= 0 ? std::vector{share}
                                             : powers_of_two(std::min(share, kLargestMicroBatch));
    for (const int size : sizes) {
      d.micro_batch = size;
      const double pass = static_cast<double>(size) * d.dp;
      // Whole micro-batches; a model that is no decoder runs its batch in one.
      const bool decoder = run_.model->transformer && run_.model->transformer->causal;
      d.global_batch = global;
      if (open_.global_batch)
        d.global_batch =
            static_cast<int>(pass * (decoder ? std::max(1.0, std::floor(usual / pass)) : 1));
      if (open_.micro_batch && d.global_batch % static_cast<int>(pass) != 0) continue;
      plans.push_back(d);
    }
  }

  const Run& run_;
  const Open& open_;
  int gpus_;
  std::vector<int> tp_, pp_;
};

// What only tells that the row's numbers do not go together is for the row to explain, not for the
// choice: devices that are fewer than the nodes have, for instance.
bool allowed(const Degrees& d, const plan::DegreeLimits& limits) {
  const plan::RuleSet rules =
      ~(plan::bit_of(plan::Rule::kDevices) | plan::bit_of(plan::Rule::kZeroGroup) |
        plan::bit_of(plan::Rule::kSequenceSplit) | plan::bit_of(plan::Rule::kExpertRanks));
  return (plan::violated_rules(d, limits) & rules) == 0;
}

struct Choice {
  Degrees degrees;
  double step_per_sample = 0;
  double memory = 0;
};

}  // namespace

bool derive_plan(Run& run, const Open& open, int gpus, const cost::StackLibrary& library) {
  const Candidates candidates(run, open, gpus);
  const plan::DegreeLimits limits = plan::degree_limits(*run.model, run.cluster);
  const bool free = open.tp || open.pp || open.micro_batch;
  std::vector<Recompute> kinds{run.degrees.recompute};
  if (open.recompute)
    for (const Recompute more : {Recompute::kSelective, Recompute::kFull})
      if (more > kinds.back()) kinds.push_back(more);
  std::optional<Choice> fastest;
  std::optional<Choice> smallest;
  PredictorOf predictor(run, library);
  for (const Recompute kind : kinds) {
    for (const Degrees& d : candidates.with(kind)) {
      if (free && !allowed(d, limits)) continue;
      const cost::Prediction p = predictor.predict(d);
      const Choice choice{d, p.step / d.global_batch, p.memory.total};
      if (p.fits && (!fastest || choice.step_per_sample < fastest->step_per_sample))
        fastest = choice;
      if (!smallest || choice.memory < smallest->memory) smallest = choice;
    }
    if (fastest) break;
  }
  if (!fastest) fastest = smallest;
  if (!fastest) return false;
  const Degrees before = run.degrees;
  run.degrees = fastest->degrees;
  if (open.tp) run.derived.emplace_back("tp");
  if (open.pp) run.derived.emplace_back("pp");
  if (open.micro_batch) run.derived.emplace_back("micro_batch");
  if (open.global_batch) run.derived.emplace_back("global_batch");
  if (run.degrees.recompute != before.recompute) run.derived.emplace_back("recompute");
  return true;
}

}  // namespace nereus::calibrate
