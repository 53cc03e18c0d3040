#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "export/deepspeed.hpp"
#include "export/hf_config.hpp"
#include "export/launch_file.hpp"

namespace nereus::exporting {

namespace {

using Json = nlohmann::ordered_json;
using cluster::Precision;
using plan::Recompute;

constexpr Engine kDeepspeed = Engine::kDeepspeed;

void check_deepspeed(const RegularPlan& regular, ErrorList& errors) {
  const plan::Degrees& d = regular.degrees;
  const auto no = [&](bool wrong, const std::string& what, const std::string& hint = {}) {
    if (wrong) cannot(errors, kDeepspeed, what, hint);
  };
  no(d.pp > 1,
     fmt::format("pp = {} in its configuration: pipeline stages are program code (PipelineModule)",
                 d.pp),
     "pp = 1, or --to megatron");
  no(d.cp > 1,
     fmt::format("cp = {} in its configuration: sequences are split by program code "
                 "(Ulysses)",
                 d.cp),
     "cp = 1");
  no(d.ep > 1,
     fmt::format("ep = {} in its configuration: experts are distributed by its own MoE layers in "
                 "the program",
                 d.ep),
     "ep = 1, or --to megatron");
  no(d.expert_tp > 1, fmt::format("experts split over {} tensor-parallel ranks", d.expert_tp),
     "tp = 1");
  no(d.tp > 1 && d.zero == 3, "tensor parallelism (AutoTP) with ZeRO-3", "zero 0, 1 or 2");
  no(d.sequence_parallel, "sequence parallelism together with tensor parallelism",
     "--sequence-parallel=off");
  no(d.zero_group > 0 && d.zero != 3,
     fmt::format("ZeRO-{} within groups of {}: MiCS shards weights as well", d.zero, d.zero_group),
     "zero 3");
  no(d.recompute == Recompute::kSelective, "selective recompute", "recompute none or full");
  no(d.recompute_blocks > 0,
     fmt::format("recompute of {} per stage", counted(d.recompute_blocks, "block")),
     "recompute all blocks");
  no(d.zero == 0 && d.data_overlap && d.dp > 1,
     "gradient reduction that overlaps with the backward pass without ZeRO: DeepSpeed reduces "
     "after the pass",
     "zero 1, or a plan without data overlap");
  cannot_offload_elsewhere(errors, kDeepspeed, d);
  cannot_set_types(errors, kDeepspeed, d.state_types, {"reduced", "gradients"});
  no(d.offload.activations > 0, "activations of Hugging Face models in host memory");
  no(d.offload.optimizer > 0 && d.zero == 0, "an optimizer in host memory without ZeRO", "zero 1");
  no(d.offload.optimizer > 0 && d.offload.optimizer < 1 && d.zero != 3,
     fmt::format("{:g} of the optimizer in host memory under ZeRO-{}", d.offload.optimizer, d.zero),
     "all of it, or zero 3");
  no(d.offload.weights > 0 && (d.zero != 3 || d.offload.weights < 1),
     fmt::format("{:g} of the weights in host memory under ZeRO-{}", d.offload.weights, d.zero),
     "all of them under zero 3");
  no(d.precision != Precision::kBf16 && d.precision != Precision::kFp16 &&
         d.precision != Precision::kFp32,
     fmt::format("training in {}", to_string(d.precision)), "bf16, fp16 or fp32");
}

Json zero_json(const plan::Degrees& d) {
  Json zero{{"stage", d.zero},
            {"overlap_comm", d.data_overlap},
            {"contiguous_gradients", true},
            {"reduce_scatter", true}};
  if (d.zero_group > 0) zero["mics_shard_size"] = d.zero_group;
  if (d.offload.optimizer > 0) {
    zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
    if (d.offload.optimizer < 1) zero["offload_optimizer"]["ratio"] = d.offload.optimizer;
  }
  if (d.offload.weights > 0) zero["offload_param"] = {{"device", "cpu"}, {"pin_memory", true}};
  return zero;
}

}  // namespace

Bundle write_deepspeed(const plan::Plan& plan, const RegularPlan& regular, const StackFacts&) {
  ErrorList errors;
  check_nodes(kDeepspeed, plan, errors);
  check_deepspeed(regular, errors);
  const std::string config = hf_config(plan.model, kDeepspeed, errors);
  errors.throw_if_any();
  const plan::Degrees& d = regular.degrees;
  Json json{{"train_batch_size", d.global_batch},
            {"train_micro_batch_size_per_gpu", d.micro_batch},
            {"gradient_accumulation_steps", d.num_micro_batches()},
            {"zero_optimization", zero_json(d)}};
  if (d.tp > 1)
    json["tensor_parallel"] = {{"autotp_size", d.tp}, {"tp_overlap_comm", d.tensor_overlap}};
  if (d.precision == Precision::kBf16) json["bf16"] = {{"enabled", true}};
  if (d.precision == Precision::kFp16) json["fp16"] = {{"enabled", true}};
  if (d.state_types.reduced != plan::NumberType::kStack)
    json["communication_data_type"] = to_string(d.state_types.reduced);
  if (d.state_types.gradients != plan::NumberType::kStack)
    json["data_types"] = {{"grad_accum_dtype", to_string(d.state_types.gradients)}};
  json["gradient_clipping"] = 1.0;
  json["optimizer"] = {{"type", "AdamW"}, {"params", {{"lr", 1e-4}, {"weight_decay", 0.1}}}};
  json["steps_per_print"] = 1;

  const std::string launch =
      script_header(kDeepspeed, plan, regular) + "\n" + torchrun_arguments(plan) + "\n" +
      trainer_arguments(plan, regular, d.recompute == Recompute::kFull) +
      "\n# TRAINER is a training script with the arguments of transformers' Trainer; this one is "
      "in\n"
      "# examples/pytorch/language-modeling of github.com/huggingface/transformers.\n" +
      (d.zero_group > 0
           ? "# mics_shard_size: it must build its model under deepspeed.zero.MiCS_Init.\n"
           : "") +
      "torchrun \"${LAUNCH_ARGS[@]}\" \"${TRAINER:-run_clm.py}\" --deepspeed ds_config.json "
      "\"${PLAN_ARGS[@]}\" \"${TRAIN_ARGS[@]}\" \"$@\"\n";
  return {{"ds_config.json", json.dump(2) + "\n"},
          {"model/config.json", config},
          {"launch.sh", launch},
          {"job.slurm", slurm_script(kDeepspeed, plan)}};
}

}  // namespace nereus::exporting
