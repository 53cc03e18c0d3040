// Hand-written plans for the tests of uneven work and state.
#pragma once

#include "plan/plan_json.hpp"
#include "worker/worker_testing.hpp"

namespace nereus::worker::testing {

// The work of one rank in a stage.
struct Work {
  int rank = 0;
  int micro_batch = 1;
  int count = 1;
  std::int64_t first_sample = 0;
  std::int64_t stride = 0;  // of micro-batches; 0: they are consecutive
  int last = 0;             // samples of the last micro-batch if it is smaller
};

// How much of the sharded state a rank stores.
struct Kept {
  int rank = 0;
  double part = 0;
};

struct PlannedStage {
  int num_layers = 0;
  std::vector<Work> work{};
  std::vector<Kept> kept{};
};

struct UnevenPlan {
  std::string name{};
  std::vector<PlannedStage> stages{};
  int zero = 3;  // what is sharded: nothing, the optimizer, also gradients, also weights
  plan::Gather gather = plan::Gather::kPerMicroBatch;
  plan::Recompute recompute = plan::Recompute::kNone;
  plan::Schedule schedule = plan::Schedule::k1f1b;
  double offload = 0;
};

inline plan::LayerRun run_of(const UnevenPlan& plan, std::size_t stage, int first_layer) {
  const PlannedStage& planned = plan.stages[stage];
  plan::LayerRun run;
  run.first_layer = first_layer;
  run.num_layers = planned.num_layers;
  run.stage = static_cast<int>(stage);
  plan::RankSet computing;
  for (const Work& work : planned.work) {
    plan::Replicas r;
    r.first = work.rank;
    r.micro_batch = work.micro_batch;
    r.num_micro_batches = work.count;
    r.first_sample = work.first_sample;
    r.micro_batch_stride = work.stride;
    r.last_micro_batch = work.last;
    r.recompute = plan.recompute;
    r.offload_activations = plan.offload;
    run.replicas.push_back(r);
    computing.push_back({work.rank, 1, 1});
  }
  for (const plan::StateKind kind :
       {plan::StateKind::kOptimizer, plan::StateKind::kGradients, plan::StateKind::kWeights}) {
    plan::StateShare share;
    share.kind = kind;
    const int divided_from = kind == plan::StateKind::kOptimizer   ? 1
                             : kind == plan::StateKind::kGradients ? 2
                                                                   : 3;
    if (plan.zero < divided_from) {
      share.ranks = computing;
      run.state.push_back(share);
      continue;
    }
    double at = 0;
    for (std::size_t i = 0; i < planned.kept.size(); ++i) {
      share.ranks = {{planned.kept[i].rank, 1, 1}};
      share.begin = i == 0 ? 0 : share.end;
      at += planned.kept[i].part;
      share.end = i + 1 == planned.kept.size()
                      ? plan::kStateUnits
                      : static_cast<std::int64_t>(at * static_cast<double>(plan::kStateUnits));
      run.state.push_back(share);
    }
  }
  return run;
}

// A job in fp64; the plan must be valid, and the worker must support it.
inline job::Job uneven_job(const model::Model& model, const UnevenPlan& uneven, int global_batch) {
  plan::Degrees alone;
  alone.global_batch = global_batch;
  alone.precision = cluster::Precision::kFp64;
  job::Job job = make_job(model, alone);
  job.plan.degrees.reset();
  plan::Placement& placement = job.plan.placement;
  placement.runs.clear();
  placement.gather = uneven.gather;
  placement.schedule = uneven.schedule;
  int first_layer = 0;
  for (std::size_t stage = 0; stage < uneven.stages.size(); ++stage) {
    placement.runs.push_back(run_of(uneven, stage, first_layer));
    first_layer += uneven.stages[stage].num_layers;
  }
  job.plan.cluster = plan::testing::make_cluster(ranks_of(job));
  auto& peak = job.plan.cluster.groups.front().node.device.peak;
  peak[static_cast<std::size_t>(cluster::Precision::kFp64)] = FlopsPerSecond{1e13};
  return job;
}

// All errors of a plan, and everything that the worker does not support.
inline std::string complaints(const job::Job& job) {
  std::string text;
  for (const Error& error : plan::check_plan(job.plan)) text += error.message + "\n";
  for (const Error& error : cannot_run(job.plan)) text += error.message + "\n";
  return text;
}

}  // namespace nereus::worker::testing
