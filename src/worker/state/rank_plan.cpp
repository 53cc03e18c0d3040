#include "worker/state/rank_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "schedule/greedy.hpp"
#include "worker/state/keeping.hpp"
#include "worker/state/sample_order.hpp"

namespace nereus::worker {

namespace {

using plan::LayerRun;
using plan::Replicas;

int rank_at(const Replicas& r, int team, int slice) {
  return r.first + team * r.team_stride + slice * r.tensor_stride;
}

// The ranks that compute samples [first, first + count) of a run in tensor slice `slice`, in order.
std::vector<Route> holders(const LayerRun& run, int slice, std::int64_t first, std::int64_t count) {
  std::vector<Route> routes;
  for (const Replicas& r : run.replicas)
    for (int team = 0; team < r.count; ++team)
      for (int m = 0; m < r.num_micro_batches; ++m) {
        const std::int64_t begin = std::max(first, r.first_sample_of(team, m));
        const std::int64_t end =
            std::min(first + count, r.first_sample_of(team, m) + r.samples_in(m));
        if (begin < end) routes.push_back({rank_at(r, team, slice), begin, end - begin});
      }
  std::sort(routes.begin(), routes.end(),
            [](const Route& a, const Route& b) { return a.first_sample < b.first_sample; });
  return routes;
}

int run_of(const plan::Placement& placement, int layer) {
  int run = 0;
  while (layer >= placement.runs[run].first_layer + placement.runs[run].num_layers) ++run;
  return run;
}

// Links of one stage to earlier and to later ones.
void find_links(const plan::Placement& placement, const LayerInputs& inputs, Routing routing,
                StageWork& work) {
  std::map<int, std::set<int>> from, to;
  const auto link = [&](int maker, int reader, int value) {
    if (reader == work.stage) from[maker].insert(value);
    if (maker == work.stage) to[reader].insert(value);
  };
  for (std::size_t layer = 0; layer < inputs.size(); ++layer)
    for (const int value : inputs[layer]) {
      if (value < 0) continue;
      const int maker = run_of(placement, value);
      const int reader = run_of(placement, static_cast<int>(layer));
      if (routing == Routing::kDirect && maker < reader) link(maker, reader, value);
      for (int run = maker; routing == Routing::kThrough && run < reader; ++run)
        link(run, run + 1, value);
    }
  for (const auto& [stage, values] : from)
    work.from.push_back({stage, {values.begin(), values.end()}});
  for (auto at = to.rbegin(); at != to.rend(); ++at)
    work.to.push_back({at->first, {at->second.begin(), at->second.end()}});
}

// First samples of all micro-batches of a run, in order.
std::vector<std::int64_t> first_samples(const LayerRun& run) {
  std::vector<std::int64_t> firsts;
  for (const Replicas& r : run.replicas)
    for (int team = 0; team < r.count; ++team)
      for (int m = 0; m < r.num_micro_batches; ++m) firsts.push_back(r.first_sample_of(team, m));
  std::sort(firsts.begin(), firsts.end());
  return firsts;
}

// This rank's part of a run; returns false if it has none.
bool find_work(const plan::Placement& placement, std::size_t stage, int rank,
               const LayerInputs& inputs, Routing routing, StageWork& work) {
  const LayerRun& run = placement.runs[stage];
  int micro_batches_before = 0;  // of streams before this one (DualPipe)
  for (const Replicas& r : run.replicas) {
    for (int team = 0; team < r.count; ++team)
      for (int slice = 0; slice < r.tp; ++slice) {
        if (rank_at(r, team, slice) != rank) continue;
        work.stage = static_cast<int>(stage);
        work.first_layer = run.first_layer;
        work.num_layers = run.num_layers;
        find_links(placement, inputs, routing, work);
        work.slice = slice;
        work.num_slices = r.tp;
        for (int t = 0; t < r.tp; ++t) work.team.push_back(rank_at(r, team, t));
        work.first_micro_batch = micro_batches_before;
        work.recompute = r.recompute;
        work.recompute_layers = r.recompute_layers;
        work.offload = r.offload_activations;
        const std::vector<std::int64_t> firsts = first_samples(run);
        work.num_in_run = static_cast<int>(firsts.size());
        for (int m = 0; m < r.num_micro_batches; ++m) {
          MicroBatch batch{r.first_sample_of(team, m), r.samples_in(m)};
          const auto routes = [&](const std::vector<Link>& links) {
            std::vector<std::vector<Route>> list;
            for (const Link& link : links)
              list.push_back(holders(placement.runs[link.stage], slice, batch.first_sample,
                                     batch.num_samples));
            return list;
          };
          batch.from = routes(work.from);
          batch.to = routes(work.to);
          batch.place = static_cast<int>(
              std::lower_bound(firsts.begin(), firsts.end(), batch.first_sample) - firsts.begin());
          work.micro_batches.push_back(std::move(batch));
        }
        return true;
      }
    if (placement.schedule == plan::Schedule::kDualPipe)
      micro_batches_before += r.num_micro_batches;
  }
  // Not computed here, but possibly stored.
  work.num_slices = run.replicas.front().tp;
  for (work.slice = 0; work.slice < work.num_slices; ++work.slice) {
    const std::vector<int> members = keeping_of(run, work.slice).members;
    if (std::find(members.begin(), members.end(), rank) == members.end()) continue;
    work.stage = static_cast<int>(stage);
    work.first_layer = run.first_layer;
    work.num_layers = run.num_layers;
    return true;
  }
  return false;
}

// Layer by layer: all micro-batches pass a stage before the next one, and go back through it in
// reverse. There is no deadlock: every stage's passes wait for those of stages before it (forward)
// or after it (backward), which come earlier in this order. And ranks that share several stages
// start their collectives in the same order, whatever samples they have of each.
std::vector<schedule::PipelineOp> layered_order(const RankPlan& mine) {
  std::vector<schedule::PipelineOp> order;
  for (const StageWork& work : mine.stages)
    for (int m = 0; m < static_cast<int>(work.micro_batches.size()); ++m)
      order.push_back({schedule::Pass::kForward, work.stage, m});
  for (auto work = mine.stages.rbegin(); work != mine.stages.rend(); ++work)
    for (int m = static_cast<int>(work->micro_batches.size()) - 1; m >= 0; --m)
      order.push_back({schedule::Pass::kBackward, work->stage, m});
  return order;
}

// The pipeline rank (place among the ranks that a sample passes) of every stage.
std::vector<int> lane_of(const plan::Placement& placement, const StageWork& any) {
  std::vector<int> ranks, places;
  for (const LayerRun& run : placement.runs) {
    const int rank = holders(run, any.slice, any.micro_batches[0].first_sample, 1).at(0).rank;
    const auto at = std::find(ranks.begin(), ranks.end(), rank);
    places.push_back(static_cast<int>(at - ranks.begin()));
    if (at == ranks.end()) ranks.push_back(rank);
  }
  return places;
}

// Burst plans: every rank has all its samples of a run in one pass.
bool runs_once(const plan::Placement& placement) {
  for (const LayerRun& run : placement.runs)
    for (const Replicas& r : run.replicas)
      if (r.num_micro_batches > 1) return false;
  return true;
}

std::vector<schedule::PipelineOp> order_of(const plan::Placement& placement, const RankPlan& mine) {
  const StageWork& any = *std::find_if(mine.stages.begin(), mine.stages.end(),
                                       [](const StageWork& work) { return work.computes(); });
  if (placement.gather == plan::Gather::kPerPass) return layered_order(mine);
  if (!meets_whole(placement))
    return runs_once(placement) ? layered_order(mine) : sample_order(placement, mine.rank);
  const std::vector<int> lane = lane_of(placement, any);
  const int depth = *std::max_element(lane.begin(), lane.end()) + 1;
  const int num_stages = static_cast<int>(lane.size());
  const bool dual = placement.schedule == plan::Schedule::kDualPipe && depth > 1;
  const int num_micro_batches = static_cast<int>(any.micro_batches.size()) * (dual ? 2 : 1);
  const schedule::PipelineSize size{depth, num_stages / depth, num_micro_batches};
  const bool suits = num_stages % depth == 0 && schedule::suits(placement.schedule, size);
  const schedule::Order order = suits ? schedule::make_order(placement.schedule, size)
                                      : schedule::greedy_order(lane, depth, num_micro_batches);
  for (const auto& ops : order)
    for (const schedule::PipelineOp& op : ops)
      if (op.pass == schedule::Pass::kForward && op.stage == any.stage &&
          op.micro_batch == any.first_micro_batch)
        return ops;
  NEREUS_CHECK(false, "an order has every stage on some rank");
  return {};
}

}  // namespace

const StageWork& RankPlan::stage(int number) const {
  for (const StageWork& work : stages)
    if (work.stage == number) return work;
  NEREUS_CHECK(false, "the order names stages of this rank alone");
  return stages.front();
}

RankPlan rank_plan(const plan::Placement& placement, int rank, const LayerInputs& inputs,
                   Routing routing) {
  RankPlan mine;
  mine.rank = rank;
  for (std::size_t stage = 0; stage < placement.runs.size(); ++stage) {
    StageWork work;
    if (find_work(placement, stage, rank, inputs, routing, work))
      mine.stages.push_back(std::move(work));
  }
  if (std::any_of(mine.stages.begin(), mine.stages.end(),
                  [](const StageWork& work) { return work.computes(); }))
    mine.order = order_of(placement, mine);
  return mine;
}

std::vector<int> data_ranks(const LayerRun& run, int slice) {
  std::vector<int> ranks;
  for (const Replicas& r : run.replicas)
    for (int team = 0; team < r.count; ++team) ranks.push_back(rank_at(r, team, slice));
  return ranks;
}

std::vector<Error> cannot_run(const plan::Plan& plan) {
  ErrorList errors;
  const auto refuse = [&](const char* code, const std::string& what, const char* hint) {
    errors.add(code, what, {}, hint);
  };
  const plan::Placement& p = plan.placement;
  if (plan.model.cnn)
    for (const LayerRun& run : p.runs)
      for (const Replicas& r : run.replicas)
        if (r.tp > 1 && errors.empty())
          refuse("train.tensor",
                 fmt::format("{} has tp = {}: convolutions are not divided between ranks",
                             plan.model.name, r.tp),
                 "tp = 1; dp, pp and ZeRO divide it");
  std::size_t run_number = 0;
  for (const LayerRun& run : p.runs) {
    const std::string place = fmt::format("run {} (layers {} to {})", run_number++, run.first_layer,
                                          run.first_layer + run.num_layers - 1);
    for (const Replicas& r : run.replicas) {
      if (r.cp > 1)
        refuse("train.context",
               place + " has cp = " + std::to_string(r.cp) + ": context parallelism is not run yet",
               "cp = 1");
      if (r.tp != p.runs.front().replicas.front().tp)
        refuse("train.tensor-degrees", place + " has another tensor degree than run 0",
               "one tp for all runs");
      if (plan.model.script && r.tp > 1)
        refuse("train.script-tensor",
               fmt::format("{} has tp = {}: a module of your own is not cut", place, r.tp),
               "tp = 1");
      if (r.offload_activations > 0 && r.offload_tier != plan::Tier::kHost)
        refuse("train.offload",
               fmt::format("{} keeps activations in {} memory: only host memory is used", place,
                           plan::to_string(r.offload_tier)),
               "offload_tier host");
      if (r.offload_activations > 0 &&
          (r.recompute != plan::Recompute::kFull || r.recompute_layers >= 0))
        refuse("train.offload",
               place +
                   " offloads activations of layers that are not computed again: only the "
                   "inputs of layers are moved",
               "recompute full, in all layers");
    }
    if (run.ep > 1)
      refuse("train.experts",
             place + " has ep = " + std::to_string(run.ep) + ": expert parallelism is not run yet",
             "ep = 1");
    for (const std::string& what : cannot_keep(run))
      refuse("train.state", place + " " + what,
             "weights and gradients whole on all who compute, or divided as the optimizer's state");
    for (const plan::StateShare& share : run.state)
      if (share.tier != plan::Tier::kDevice) {
        refuse("train.offload", place + " keeps state beyond the device, which is not run yet",
               "offload nothing");
        break;
      }
  }
  if (p.schedule == plan::Schedule::kDualPipe && p.gather == plan::Gather::kPerPass)
    refuse("train.dualpipe",
           "dualpipe with weights gathered once a pass: it runs both ways at once",
           "another schedule, or gather per-micro-batch or per-step");
  if (p.schedule == plan::Schedule::kDualPipe && !meets_whole(p))
    refuse("train.dualpipe", "dualpipe with stages that do not meet micro-batch by micro-batch",
           "another schedule, or the same micro-batches in every stage");
  return errors.list();
}

}  // namespace nereus::worker
