// Checker, first half: ranks, splits and stages of the work.
#include <fmt/format.h>

#include <numeric>

#include "base/format.hpp"
#include "plan/check_internal.hpp"
#include "plan/table_placement.hpp"

namespace nereus::plan::checking {

namespace {

int most_stages_per_rank(Schedule schedule) {
  switch (schedule) {
    case Schedule::kGpipe:
    case Schedule::k1f1b:
    case Schedule::kVaruna:
    case Schedule::kZbH1:
    case Schedule::kZbH2:
      return 1;
    case Schedule::kZbV:
    case Schedule::kDualPipe:
      return 2;
    case Schedule::kInterleaved:
    case Schedule::kLoopedBfs:
      return std::numeric_limits<int>::max();
  }
  return 0;
}

}  // namespace

WorkChecker::WorkChecker(const Facts& facts, Report& report)
    : facts_(facts),
      report_(report),
      seen_in_run_(static_cast<std::size_t>(facts.num_ranks), 0),
      last_stage_(seen_in_run_),
      num_stages_(seen_in_run_) {}

void WorkChecker::check_run(std::size_t index) {
  if (!check_numbers(index)) return;
  if (check_ranks(index)) {
    check_splits(index);
    for (const Replicas& r : facts_.placement.runs[index].replicas)
      if (r.offload_activations > 0) check_tier(index, r);
  }
  check_samples(index);
}

bool WorkChecker::check_numbers(std::size_t index) {
  const LayerRun& run = facts_.placement.runs[index];
  bool sound = true;
  const auto complain = [&](std::size_t i, const char* what, std::int64_t value,
                            const std::string& hint) {
    sound = false;
    report_.add("plan.replicas",
                fmt::format("{}: {} = {}", replicas_name(facts_.placement, index, i), what, value),
                hint);
  };
  if (run.replicas.empty()) {
    sound = false;
    report_.add("plan.replicas",
                fmt::format("no rank computes {}", run_name(facts_.placement, index)));
  }
  for (std::size_t i = 0; i < run.replicas.size(); ++i) {
    const Replicas& r = run.replicas[i];
    const auto positive = [&](const char* what, int value) {
      if (value < 1) complain(i, what, value, "at least 1");
    };
    positive("count", r.count);
    positive("tp", r.tp);
    positive("cp", r.cp);
    positive("micro_batch", r.micro_batch);
    positive("num_micro_batches", r.num_micro_batches);
    if (r.last_micro_batch < 0 || r.last_micro_batch > r.micro_batch)
      complain(i, "last_micro_batch", r.last_micro_batch,
               fmt::format("0 .. micro_batch = {}", r.micro_batch));
    if (r.recompute_layers < -1 || r.recompute_layers > run.num_layers)
      complain(i, "recompute_layers", r.recompute_layers,
               fmt::format("-1 for all, or 0 .. {}", run.num_layers));
    if (!(r.offload_activations >= 0 && r.offload_activations <= 1)) {
      sound = false;
      report_.add("plan.replicas",
                  fmt::format("{}: offload_activations = {}",
                              replicas_name(facts_.placement, index, i), r.offload_activations),
                  "a share within 0 and 1");
    }
  }
  return sound;
}

bool WorkChecker::check_ranks(std::size_t index) {
  const LayerRun& run = facts_.placement.runs[index];
  for (std::size_t i = 0; i < run.replicas.size(); ++i) {
    const Replicas& r = run.replicas[i];
    const Reach reach = Reach(r.first)
                            .stride(r.team_stride, r.count)
                            .stride(r.context_stride, r.cp)
                            .stride(r.tensor_stride, r.tp);
    if (!reach.within(0, facts_.num_ranks)) {
      report_.add("plan.rank",
                  fmt::format("{} uses ranks {} .. {}, but the cluster has ranks 0 .. {}",
                              replicas_name(facts_.placement, index, i), reach.least,
                              reach.greatest, facts_.num_ranks - 1));
      return false;
    }
    if (times(times(r.count, r.tp), r.cp) > facts_.num_ranks) {
      report_.add(
          "plan.rank-twice",
          fmt::format("{}: {} of tp x cp = {} x {} ranks {} more than the {}",
                      replicas_name(facts_.placement, index, i), counted(r.count, "replica"), r.tp,
                      r.cp, r.count == 1 ? "needs" : "need",
                      counted(facts_.num_ranks, "available rank")));
      return false;
    }
  }
  const int mark = static_cast<int>(index) + 1;
  int twice = -1;
  for (const Replicas& r : run.replicas)
    for (int team = 0; team < r.count; ++team)
      for (int c = 0; c < r.cp; ++c)
        for (int t = 0; t < r.tp; ++t) {
          const int number =
              r.first + team * r.team_stride + c * r.context_stride + t * r.tensor_stride;
          const auto rank = static_cast<std::size_t>(number);
          if (seen_in_run_[rank] == mark) twice = number;
          seen_in_run_[rank] = mark;
          if (last_stage_[rank] != run.stage + 1) {
            last_stage_[rank] = run.stage + 1;
            ++num_stages_[rank];
          }
        }
  if (twice >= 0)
    report_.add("plan.rank-twice", fmt::format("{}: rank {} is in two slices or replicas",
                                               run_name(facts_.placement, index), twice));
  return twice < 0;
}

// Offloaded activations need their tier on the nodes of these teams.
void WorkChecker::check_tier(std::size_t index, const Replicas& r) {
  const std::string_view tier = to_string(r.offload_tier);
  if (r.offload_tier == Tier::kDevice) {
    report_.add("plan.tier",
                fmt::format("{}: the tier of offloaded activations is the device itself",
                            run_name(facts_.placement, index)),
                "offload_tier host, expanded or nvme");
    return;
  }
  for (const GroupRanks& group : facts_.groups) {
    if (group.node->tier(tier) != nullptr) continue;
    for (int team = 0; team < r.count; ++team)
      for (int slice = 0; slice < r.tp * r.cp; ++slice) {
        const int rank = r.first + team * r.team_stride + slice / r.tp * r.context_stride +
                         slice % r.tp * r.tensor_stride;
        if (rank < group.begin || rank >= group.end) continue;
        report_.add("plan.tier",
                    fmt::format("{}: activations of rank {} are offloaded to {} memory, but node "
                                "{} has none",
                                run_name(facts_.placement, index), rank, tier, group.node->name));
        return;
      }
  }
}

void WorkChecker::check_splits(std::size_t index) {
  const LayerRun& run = facts_.placement.runs[index];
  const auto complain = [&](std::size_t i, const char* split, std::int64_t degree, const char* what,
                            std::int64_t size) {
    report_.add("plan.split",
                fmt::format("{}: {} = {} does not divide {} = {}",
                            replicas_name(facts_.placement, index, i), split, degree, what, size));
  };
  const bool has_blocks = LayerFacts::count(facts_.layers.blocks, run) > 0;
  const auto& shape = facts_.model.transformer;
  for (std::size_t i = 0; i < run.replicas.size(); ++i) {
    const Replicas& r = run.replicas[i];
    if (r.tp > 1 && !facts_.layers.splits_tensors)
      report_.add("plan.split", fmt::format("{}: tp = {}, but no operator of the model supports "
                                            "tensor parallelism",
                                            replicas_name(facts_.placement, index, i), r.tp));
    if (!shape) {
      if (r.cp > 1)
        report_.add("plan.split", fmt::format("{}: cp = {}, but the model has no sequence",
                                              replicas_name(facts_.placement, index, i), r.cp));
      continue;
    }
    const bool zigzag = facts_.placement.context == ContextKind::kZigzag;
    if (r.cp > 1 && shape->seq % (std::int64_t{r.cp} * (zigzag ? 2 : 1)) != 0)
      complain(i, zigzag ? "2 cp" : "cp", std::int64_t{r.cp} * (zigzag ? 2 : 1), "seq", shape->seq);
    if (facts_.placement.sequence_parallel && r.tp > 1 &&
        shape->seq % (std::int64_t{r.tp} * r.cp) != 0)
      complain(i, "tp x cp", std::int64_t{r.tp} * r.cp, "seq", shape->seq);
    if (!has_blocks) continue;
    if (shape->heads % r.tp != 0) complain(i, "tp", r.tp, "heads", shape->heads);
    const int kv = shape->kv_heads;
    if (shape->kv_lora == 0 && kv > 0 && kv % r.tp != 0 && r.tp % kv != 0)
      complain(i, "tp", r.tp, "kv_heads", kv);
    if (model::has_scans(*shape) && shape->ssm_heads % r.tp != 0)
      complain(i, "tp", r.tp, "ssm_heads", shape->ssm_heads);
    if (model::has_dense_mlp(*shape) && shape->ffn % r.tp != 0)
      complain(i, "tp", r.tp, "ffn", shape->ffn);
  }
  if (run.ep < 1 || run.expert_tp < 1) {
    report_.add("plan.split",
                fmt::format("{}: ep = {}, expert_tp = {}", run_name(facts_.placement, index),
                            run.ep, run.expert_tp),
                "at least 1");
    return;
  }
  if (facts_.layers.has_tables(run))
    check_tables(index);
  else
    check_experts(index);
}

void WorkChecker::check_experts(std::size_t index) {
  const LayerRun& run = facts_.placement.runs[index];
  const auto& shape = facts_.model.transformer;
  if (run.table_split != TableSplit::kTable || !run.table_slices.empty())
    report_.add("plan.split", fmt::format("{}: table_split {} and {} table_slices, but no tables",
                                          run_name(facts_.placement, index),
                                          to_string(run.table_split), run.table_slices.size()));
  const int experts = shape ? shape->experts : 0;
  const int expert_ffn = shape ? shape->expert_ffn : 0;
  if (run.ep > 1 && (experts == 0 || experts % run.ep != 0))
    report_.add("plan.split", fmt::format("{}: ep = {} does not divide experts = {}",
                                          run_name(facts_.placement, index), run.ep, experts));
  if (run.expert_tp > 1 && (expert_ffn == 0 || expert_ffn % run.expert_tp != 0))
    report_.add("plan.split",
                fmt::format("{}: expert_tp = {} does not divide the experts' ffn = {}",
                            run_name(facts_.placement, index), run.expert_tp, expert_ffn));
}

// Every table, or every row and column of it, is in exactly one slice.
void WorkChecker::check_tables(std::size_t index) {
  const LayerRun& run = facts_.placement.runs[index];
  const std::string name = run_name(facts_.placement, index);
  const std::vector<int>& dims = facts_.layers.table_dims;
  if (run.expert_tp > 1)
    report_.add("plan.split", fmt::format("{}: expert_tp = {}, but tables are split by ep only",
                                          name, run.expert_tp));
  if (facts_.placement.runs.back().stage > 0)
    report_.add("plan.split",
                fmt::format("{}: a model with embedding tables on {} stages", name,
                            facts_.placement.runs.back().stage + 1),
                "one stage, because the tables feed a layer after the parallel MLP");
  const bool whole =
      run.table_split == TableSplit::kTable || run.table_split == TableSplit::kLookups;
  const std::size_t slices = run.table_slices.size();
  const std::size_t wanted = whole && run.ep > 1 ? dims.size() : 0;
  if (slices != wanted)
    report_.add(
        "plan.split",
        fmt::format("{}: table_split {} of {} over ep = {} with {} table_slices", name,
                    to_string(run.table_split), counted(dims.size(), "table"), run.ep, slices),
        fmt::format("{} of them", wanted));
  for (std::size_t i = 0; i < slices; ++i)
    if (run.table_slices[i] < 0 || run.table_slices[i] >= run.ep) {
      report_.add("plan.split", fmt::format("{}: table {} is in slice {} of 0 .. {}", name, i,
                                            run.table_slices[i], run.ep - 1));
      break;
    }
  if (run.table_split != TableSplit::kColumn) return;
  int common = 0;  // divides the columns of all tables
  for (const int dim : dims) common = std::gcd(common, dim);
  if (run.ep > 1 && column_parts(common, run.ep) == 0)
    report_.add("plan.split",
                fmt::format("{}: ep = {} cannot share the {} of every table", name, run.ep,
                            counted(common, "column")),
                fmt::format("ep, or a divisor of it, must divide them and leave at least {}",
                            kLeastColumns));
}

void WorkChecker::finish() {
  const Placement& placement = facts_.placement;
  bool any_tensor = false;
  for (const LayerRun& run : placement.runs)
    for (const Replicas& r : run.replicas) any_tensor |= r.tp > 1;
  if (placement.sequence_parallel && !any_tensor)
    report_.add("plan.sequence-parallel", "sequence parallelism, but no replica has tp above 1");

  const int most = most_stages_per_rank(placement.schedule);
  const auto crowded = std::max_element(num_stages_.begin(), num_stages_.end());
  if (crowded != num_stages_.end() && *crowded > most)
    report_.add(
        "plan.schedule",
        fmt::format("rank {} is in {} stages, but schedule {} runs {} on a rank",
                    crowded - num_stages_.begin(), *crowded, to_string(placement.schedule), most),
        "schedule interleaved or looped-bfs");
  if (placement.schedule == Schedule::kInterleaved && crowded != num_stages_.end() &&
      *crowded > 1) {
    const int depth = (placement.runs.back().stage + 1) / *crowded;
    for (const LayerRun& run : placement.runs)
      for (const Replicas& r : run.replicas)
        if (depth > 1 && r.num_micro_batches % depth != 0) {
          report_.add(
              "plan.schedule",
              fmt::format("schedule interleaved on {} pipeline ranks: {} not a multiple of it",
                          depth,
                          counted(r.num_micro_batches, "micro-batch is", "micro-batches are")));
          return;
        }
  }

  for (const GroupRanks& group : facts_.groups) {
    const auto used =
        std::any_of(seen_in_run_.begin() + group.begin, seen_in_run_.begin() + group.end,
                    [](int run) { return run > 0; });
    const cluster::Device& device = group.node->device;
    if (used && !device.has(placement.precision))
      report_.add("plan.no-precision",
                  fmt::format("ranks {} .. {} are {}, which has no {}", group.begin, group.end - 1,
                              device.name, cluster::to_string(placement.precision)));
  }
}

}  // namespace nereus::plan::checking
