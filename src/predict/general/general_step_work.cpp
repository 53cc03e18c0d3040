// The work of a step of any placement (predict/step_work.hpp).
#include "predict/step_work.hpp"

#include <algorithm>

#include "cost/data_parallel.hpp"
#include "predict/general/lane_passes.hpp"
#include "predict/general/lane_step.hpp"
#include "predict/general/reduce.hpp"
#include "predict/general/table_step.hpp"
#include "predict/general/team_tables.hpp"
#include "predict/general/teams.hpp"

namespace nereus::cost {

using namespace general;
using plan::LayerRun;
using plan::Replicas;

namespace {

class Writer {
 public:
  explicit Writer(Context& context)
      : context_(context),
        work_(context),
        transfers_(context),
        loads_(rank_loads(context)),
        joint_(lanes_are_joint(context)),
        reductions_(reductions_of(context)) {}

  StepWork write(const Prediction& prediction) {
    out_.prediction = prediction;
    const Layout& layout = context_.layout;
    out_.schedule = layout.pipeline.schedule;
    out_.depth = layout.pipeline.depth;
    out_.reduces_last = out_.depth > 1 && splits_backward(out_.schedule);
    out_.rank_of_stage = ranks_of_stages(context_);
    for (std::size_t v = 0; v < out_.rank_of_stage.size(); ++v)
      out_.reduce.push_back(reductions_.share[v] * reductions_.seconds[out_.rank_of_stage[v]]);
    for (std::size_t i = 0; i < layout.stages.size(); ++i)
      times_.push_back(work_.stage(static_cast<int>(i)));
    out_.reduce_overlap = 1;
    for (std::size_t lane = 0; lane < times_.front().size(); ++lane) add_lane(lane);
    if (!context_.placement.data_overlap) out_.reduce_overlap = 0;
    add_memory();
    add_wires();
    add_closing();
    out_.layers = work_.layer_graph();
    return std::move(out_);
  }

 private:
  // The ranks of every team of the lane; of all lanes if one represents them.
  void add_ranks(LaneWork& lane, std::size_t index) {
    for (std::size_t stage = 0; stage < context_.layout.stages.size(); ++stage) {
      const PhysicalStage& own = context_.layout.stages[stage];
      const Segment* widest = &own.segments.front();
      std::vector<int> firsts;
      for (const Segment& segment : own.segments) {
        std::vector<int> ranks;
        const LayerRun& run = context_.run(segment.runs.front());
        for (std::size_t l = 0; l < segment.lanes.size(); ++l) {
          if (!joint_ && l != index) continue;
          const Replicas& r = replicas_of(run, segment.lanes[l]);
          for (const int team : segment.lanes[l].teams) ranks.push_back(rank_at(r, team, 0, 0));
        }
        if (ranks.size() > firsts.size()) {
          firsts = std::move(ranks);
          widest = &segment;
        }
      }
      const Replicas& r =
          replicas_of(context_.run(widest->runs.front()), widest->lanes[joint_ ? 0 : index]);
      lane.ranks_per_team = std::max(lane.ranks_per_team, r.ranks_per_team());
      if (lane.ranks.size() < firsts.size()) lane.ranks.resize(firsts.size());
      for (std::size_t team = 0; team < lane.ranks.size(); ++team)
        lane.ranks[team].push_back(firsts[std::min(team, firsts.size() - 1)]);
    }
    // Stages before the widest one have fewer teams; their last team is repeated.
    for (std::vector<int>& ranks : lane.ranks)
      while (ranks.size() < context_.layout.stages.size())
        ranks.insert(ranks.begin(), lane.ranks.front().front());
  }

  void add_lane(std::size_t index) {
    LaneWork lane;
    lane.joint = joint_;
    add_ranks(lane, index);
    LanePasses passes = lane_passes(context_, work_, times_, index, transfers_);
    lane.num_micro_batches = passes.num_micro_batches;
    lane.passes = std::move(passes.each);
    lane.last = std::move(passes.last);
    lane.send = std::move(passes.send);
    lane.communication = std::move(passes.communication);
    const Parameters p = lane_parameters(context_, index);
    lane.send_overlap = p.pipeline_overlap;
    out_.reduce_overlap =
        std::min(out_.reduce_overlap, reduction_overlap(context_.reduced_as(), p));
    const Memory& memory = out_.prediction.memory;
    const LaneStep own = lane_step(context_, work_, times_, index, transfers_, reductions_,
                                   memory.total / memory.capacity);
    lane.closing = own.closing;
    lane.reduced_each = own.reduced_each;
    out_.lanes.push_back(std::move(lane));
  }

  void add_memory() {
    const PipelineShape& shape = context_.layout.pipeline;
    for (std::size_t stage = 0; stage < context_.layout.stages.size(); ++stage) {
      const int rank = out_.lanes.front().ranks.front()[stage];
      const RankMemory& memory = loads_[rank].memory;
      const double on_device = memory.at_peak - memory.offloaded;
      const double total = total_of(
          memory_parts(memory, context_.options, context_.wires.machine_at(rank).parameters));
      const double flight =
          in_flight(shape, static_cast<int>(stage), out_.lanes.front().num_micro_batches);
      out_.held.push_back(total - on_device);
      out_.activation.push_back(on_device / (flight * shape.interleave));
    }
  }

  void add_wires() {
    const auto leaves = [&](int a, int b) { return !context_.wires.same_domain(a, b); };
    const Layout& layout = context_.layout;
    out_.wires.messages_outside = leaves(layout.lowest_rank, layout.highest_rank);
    for (const PhysicalStage& stage : layout.stages)
      out_.wires.reduction_outside |= leaves(stage.lowest_rank, stage.highest_rank);
    for (const LayerRun& run : context_.placement.runs)
      for (const Replicas& r : run.replicas)
        out_.wires.collectives_outside |=
            leaves(rank_at(r, 0, 0, 0), rank_at(r, 0, r.cp - 1, r.tp - 1));
  }

  void add_closing() {
    const Prediction& p = out_.prediction;
    double update = 0;
    double copied = 0;
    for (std::size_t rank = 0; rank < loads_.size(); ++rank) {
      if (!context_.layout.used[rank]) continue;
      const Machine& machine = context_.wires.machine_at(static_cast<int>(rank));
      copied =
          std::max({copied, loads_[rank].copied_seconds,
                    host_update_seconds(loads_[rank].host_updates, context_.options, machine)});
      update = std::max(update, optimizer_seconds(loads_[rank].updates, context_.options, machine,
                                                  context_.placement.precision));
    }
    out_.closing = p.part(Part::kOptimizer) + std::max(0.0, copied - update) +
                   (out_.depth > 1 ? tied_seconds(context_) : 0);
    for (std::size_t run = 0; run < context_.placement.runs.size(); ++run)
      out_.closing += table_step_of(context_, static_cast<int>(run)).exchange;
  }

  Context& context_;
  Work work_;
  Transfers transfers_;
  std::vector<RankLoad> loads_;
  bool joint_;
  std::vector<std::vector<LaneTime>> times_;
  Reductions reductions_;
  StepWork out_;
};

}  // namespace

StepWork GeneralPredictor::work(const plan::Placement& placement) {
  const Prediction prediction = predict(placement);
  Context context = tables_->context_of(placement);
  return Writer(context).write(prediction);
}

}  // namespace nereus::cost
