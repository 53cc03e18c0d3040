#include "app/train/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/units.hpp"

namespace nereus::app {

namespace {

constexpr const char* kHeader =
    "set,model,layers,hidden,heads,kv_heads,ffn,vocab,seq,gpu,gpus,tp,pp,dp,cp,ep,vpp,micro_batch,"
    "global_batch,recompute,sequence_parallel,zero,precision,metric,value,source,mem_gib_reported,"
    "stack,tied_embeddings,mlp";

const char* yes(bool value) { return value ? "yes" : "no"; }

}  // namespace

void check_record(const std::string& path, const ResolvedPlan& plan) {
  ErrorList errors;
  if (!plan.model.transformer)
    errors.add("train.record", "--record supports transformers only", {path});
  if (!plan.degrees)
    errors.add("train.record", "--record supports plans with degrees only, not irregular plans",
               {path});
  else if (plan.degrees->schedule != plan::Schedule::k1f1b &&
           plan.degrees->schedule != plan::Schedule::kInterleaved && plan.degrees->pp > 1)
    errors.add("train.record",
               fmt::format("--record has no column for the schedule {}",
                           to_string(plan.degrees->schedule)),
               {path}, "--schedule 1f1b");
  std::ifstream file(path);
  std::string first;
  if (file && std::getline(file, first) && first != kHeader)
    errors.add("train.record", "the table has different columns than --record writes", {path},
               "a new file; nereus calibrate takes several");
  errors.throw_if_any();
}

void append_run(const std::string& path, const TrainAnswer& answer) {
  if (answer.steps.empty()) return;
  const bool is_new = !std::filesystem::exists(path) || std::filesystem::file_size(path) == 0;
  std::ofstream file(path, std::ios::app);
  const model::TransformerShape& m = *answer.plan.model.transformer;
  const plan::Degrees& d = *answer.plan.degrees;
  double memory = 0;
  for (const TrainStep& step : answer.steps) memory = std::max(memory, step.memory_bytes);
  const cluster::Device& device = answer.plan.cluster.groups.front().node.device;
  if (is_new) file << kHeader << "\n";
  file << fmt::format(
      "own,{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},"
      "iteration_s,{:.9g},nereus train on {},{:.4f},nereus,{},{}\n",
      answer.plan.model.name, m.layers, m.hidden, m.heads, m.kv_heads, m.ffn, m.vocab, m.seq,
      device.name, answer.num_ranks, d.tp, d.pp, d.dp, d.cp, d.ep, d.interleave, d.micro_batch,
      d.global_batch, to_string(d.recompute), yes(d.sequence_parallel), d.zero,
      cluster::to_string(d.precision), answer.step_s, answer.library, memory / kGiB,
      yes(m.tied_embeddings), m.gated_mlp ? "gated" : "plain");
  file.flush();
  if (!file) throw_environment_error("train.record", fmt::format("{} cannot be written", path));
}

}  // namespace nereus::app
