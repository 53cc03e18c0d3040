#include "search/mixed/mixed_pipeline.hpp"

#include <algorithm>
#include <limits>

namespace nereus::mixed {

namespace {

constexpr double kNoPipeline = std::numeric_limits<double>::infinity();
constexpr int kMostRepairs = 12;

// For every stage, the seconds of the layers on its kind of device.
std::vector<const std::vector<double>*> seconds_of(Machines& machines,
                                                   const PipelineManner& manner) {
  std::vector<const std::vector<double>*> seconds;
  for (const StageBlock& block : manner.blocks)
    for (int i = 0; i < block.stages; ++i)
      seconds.push_back(
          &machines.layers({block.group, block.tp, manner.recompute}, manner.micro_batch));
  return seconds;
}

plan::Placement pipeline_placement(const Machines& machines, const PipelineManner& manner,
                                   const std::vector<int>& starts) {
  plan::Placement p = machines.like();
  p.gather = plan::Gather::kPerStep;
  p.schedule = plan::Schedule::k1f1b;
  p.runs.clear();
  const auto batch = static_cast<int>(p.global_batch);
  int stage = 0;
  for (const StageBlock& block : manner.blocks) {
    p.sequence_parallel |= block.tp > 1;
    for (int i = 0; i < block.stages; ++i, ++stage) {
      plan::LayerRun run;
      run.stage = stage;
      run.first_layer = starts[stage];
      run.num_layers = starts[static_cast<std::size_t>(stage) + 1] - run.first_layer;
      plan::Replicas r;
      r.count = manner.width;
      r.tp = r.team_stride = block.tp;
      r.first = machines.groups()[block.group].first + i * manner.width * block.tp;
      r.micro_batch = manner.micro_batch;
      r.num_micro_batches = batch / (manner.width * manner.micro_batch);
      r.team_sample_stride = manner.micro_batch;
      r.micro_batch_stride = static_cast<std::int64_t>(manner.width) * manner.micro_batch;
      r.recompute = manner.recompute;
      run.replicas = {r};
      for (const plan::StateKind kind :
           {plan::StateKind::kWeights, plan::StateKind::kGradients, plan::StateKind::kOptimizer}) {
        plan::StateShare share;
        share.kind = kind;
        share.cut = share.num_slices = block.tp;
        share.ranks = {{r.first, manner.width, block.tp}};
        if (kind == plan::StateKind::kOptimizer && manner.zero > 0) share.pieces = manner.width;
        run.state.push_back(share);
      }
      p.runs.push_back(std::move(run));
    }
  }
  return p;
}

int rank_of_stage(const plan::Placement& placement, int stage) {
  return placement.runs[stage].replicas.front().first;
}

}  // namespace

int PipelineManner::depth() const {
  int stages = 0;
  for (const StageBlock& block : blocks) stages += block.stages;
  return stages;
}

std::vector<int> divide_layers(const std::vector<const std::vector<double>*>& seconds,
                               const std::vector<int>& limits) {
  const std::size_t stages = seconds.size(), layers = seconds.front()->size();
  // least[s][l]: the slowest of the first s stages with the first l layers.
  std::vector<std::vector<double>> least(stages + 1, std::vector<double>(layers + 1, kNoPipeline));
  std::vector<std::vector<std::size_t>> from(stages + 1, std::vector<std::size_t>(layers + 1));
  least[0][0] = 0;
  for (std::size_t s = 1; s <= stages; ++s) {
    const std::vector<double>& own = *seconds[s - 1];
    for (std::size_t l = s; l + (stages - s) <= layers; ++l) {
      double sum = 0;
      const auto most = static_cast<std::size_t>(std::max(0, limits[s - 1]));
      for (std::size_t k = l; k > s - 1 && l - k < most; --k) {
        sum += own[k - 1];
        if (sum >= least[s][l]) break;
        if (const double slowest = std::max(sum, least[s - 1][k - 1]); slowest < least[s][l]) {
          least[s][l] = slowest;
          from[s][l] = k - 1;
        }
      }
    }
  }
  if (least[stages][layers] == kNoPipeline) return {};
  std::vector<int> starts(stages + 1, static_cast<int>(layers));
  for (std::size_t s = stages; s > 0; --s) starts[s - 1] = static_cast<int>(from[s][starts[s]]);
  return starts;
}

double pipeline_bound(Machines& machines, const PipelineManner& manner) {
  double stages = 0, quickest = kNoPipeline;  // per second: of the layers' sum
  for (const StageBlock& block : manner.blocks) {
    double all = 0;
    for (const double layer :
         machines.layers({block.group, block.tp, manner.recompute}, manner.micro_batch))
      all += layer;
    stages += block.stages / all;
    quickest = std::min(quickest, all);
  }
  const double count =
      static_cast<double>(machines.like().global_batch) / (manner.width * manner.micro_batch);
  return (count - 1) / stages + quickest;
}

std::optional<plan::Placement> best_pipeline(Machines& machines, const PipelineManner& manner,
                                             double room) {
  const auto seconds = seconds_of(machines, manner);
  std::vector<int> limits(seconds.size(), machines.model().num_layers());
  for (int repair = 0; repair < kMostRepairs; ++repair) {
    const std::vector<int> starts = divide_layers(seconds, limits);
    if (starts.empty()) return std::nullopt;
    plan::Placement placement = pipeline_placement(machines, manner, starts);
    const auto memory = machines.predictor().memory_by_rank(placement);
    ++machines.evaluated;
    bool fits = true;
    for (std::size_t s = 0; s < seconds.size(); ++s) {
      const auto& own = memory[rank_of_stage(placement, static_cast<int>(s))];
      if (own.total <= room * own.capacity) continue;
      fits = false;
      const int layers = starts[s + 1] - starts[s];
      limits[s] = std::min(layers - 1, static_cast<int>(layers * room * own.capacity / own.total));
      if (limits[s] < 1) return std::nullopt;
    }
    if (fits) return placement;
  }
  return std::nullopt;
}

}  // namespace nereus::mixed
