#include "export/fsdp.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "export/hf_config.hpp"
#include "export/launch_file.hpp"
#include "spec/reader.hpp"

namespace nereus::exporting {

namespace {

using cluster::Precision;
using plan::Recompute;

constexpr Engine kFsdp = Engine::kFsdp;

void check_fsdp(const RegularPlan& regular, ErrorList& errors) {
  const plan::Degrees& d = regular.degrees;
  const auto no = [&](bool wrong, const std::string& what, const std::string& hint = {}) {
    if (wrong) cannot(errors, kFsdp, what, hint);
  };
  no(d.pp > 1, fmt::format("pp = {}: FSDP has no pipeline stages", d.pp), "pp = 1");
  no(d.ep > 1, fmt::format("ep = {}: FSDP has no expert parallelism", d.ep), "ep = 1");
  no(d.expert_tp > 1, fmt::format("experts split over {} tensor-parallel ranks", d.expert_tp),
     "tp = 1");
  no(d.sequence_parallel, "sequence parallelism together with tensor parallelism",
     "--sequence-parallel=off");
  no(d.tensor_overlap, "overlapped tensor collectives", "a plan without tensor overlap");
  no(d.zero == 1, "ZeRO-1: FSDP shards gradients as well", "zero 0, 2 or 3");
  no(d.zero == 0 && (d.tp > 1 || d.cp > 1), "tensor or context parallelism without sharded state",
     "zero 2 or 3");
  no(d.zero_group > 0 && d.zero_group % d.cp != 0,
     fmt::format(
         "state sharded over {} with cp = {}: FSDP shards over whole context-parallel groups",
         counted(d.zero_group, "rank"), d.cp));
  no(d.cp > 1 && d.context != plan::ContextKind::kZigzag,
     fmt::format("context {}: FSDP uses zig-zag slices and a ring of keys", to_string(d.context)),
     "zig-zag");
  no(d.recompute == Recompute::kSelective, "selective recompute", "recompute none or full");
  no(d.recompute_blocks > 0,
     fmt::format("recompute of {} per stage", counted(d.recompute_blocks, "block")),
     "recompute all blocks");
  no(!d.data_overlap, "gathering and reduction that do not overlap: FSDP always prefetches");
  cannot_offload_parts(errors, kFsdp, d);
  cannot_set_types(errors, kFsdp, d.state_types);
  no(d.precision != Precision::kBf16 && d.precision != Precision::kFp16 &&
         d.precision != Precision::kFp32 && d.precision != Precision::kFp8,
     fmt::format("training in {}", to_string(d.precision)), "bf16, fp16, fp32 or fp8");
}

std::string_view precision_word(Precision precision) {
  return precision == Precision::kFp32 ? "no" : to_string(precision);
}

std::string yaml(const plan::Plan& plan, const RegularPlan& regular) {
  const plan::Degrees& d = regular.degrees;
  const auto flag = [](bool yes) { return yes ? "true" : "false"; };
  std::string text = fmt::format(
      "compute_environment: LOCAL_MACHINE\n"
      "distributed_type: {}\n"
      "mixed_precision: '{}'\n"
      "num_machines: {}\n"
      "num_processes: {}\n"
      "rdzv_backend: static\n"
      "same_network: true\n"
      "main_training_function: main\n"
      "use_cpu: false\n",
      d.zero == 0 ? "MULTI_GPU" : "FSDP", precision_word(d.precision), plan.cluster.num_nodes(),
      plan.cluster.num_devices());
  if (d.precision == Precision::kFp8) text += "fp8_config:\n  backend: TE\n  fp8_format: HYBRID\n";
  if (d.zero == 0) return text;
  const std::string block = hf_block_class(plan.model);
  text += fmt::format(
      "fsdp_config:\n"
      "  fsdp_version: 2\n"
      "  fsdp_reshard_after_forward: {}\n"
      "  fsdp_offload_params: {}\n"
      "  fsdp_activation_checkpointing: {}\n"
      "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
      "  fsdp_transformer_layer_cls_to_wrap: {}\n"
      "  fsdp_cpu_ram_efficient_loading: true\n"
      "  fsdp_state_dict_type: SHARDED_STATE_DICT\n",
      flag(d.zero == 3), flag(d.offload.weights == 1), flag(d.recompute == Recompute::kFull),
      block);
  const int shard = d.zero_group > 0 ? d.zero_group / d.cp : d.dp;
  if (d.tp > 1 || d.cp > 1 || shard != d.dp) {
    text += fmt::format(
        "parallelism_config:\n"
        "  parallelism_config_dp_replicate_size: {}\n"
        "  parallelism_config_dp_shard_size: {}\n"
        "  parallelism_config_tp_size: {}\n"
        "  parallelism_config_cp_size: {}\n",
        d.dp / shard, shard, d.tp, d.cp);
    if (d.cp > 1) text += "  parallelism_config_cp_comm_strategy: alltoall\n";
  }
  return text;
}

void read_sharding(spec::Reader& root, const spec::Value& value, plan::Degrees& d, Reading& reading,
                   ErrorList& errors) {
  spec::Reader fsdp = root.optional_table("fsdp_config");
  if (!fsdp.present()) return;
  note_unknown_keys(*value.find("fsdp_config"), accelerate_fsdp_keys(), "fsdp_config.",
                    "accelerate", reading, errors);
  d.zero = 3;
  const std::string strategy = fsdp.optional_string("fsdp_sharding_strategy", "FULL_SHARD");
  if (strategy == "SHARD_GRAD_OP" || strategy == "2") d.zero = 2;
  if (strategy == "NO_SHARD" || strategy == "3") d.zero = 0;
  if (strategy == "HYBRID_SHARD_ZERO2") d.zero = 2;
  if (strategy.starts_with("HYBRID_SHARD"))
    reading.assumed.push_back({"state is sharded within a node and replicated on every node"});
  // Version 1 has a word there, version 2 a truth value.
  const spec::Value* reshard = fsdp.raw("fsdp_reshard_after_forward");
  if (reshard != nullptr) {
    if (const auto* yes = std::get_if<bool>(&reshard->data)) {
      if (!*yes) d.zero = 2;
    } else if (const auto* word = std::get_if<std::string>(&reshard->data)) {
      if (*word == "SHARD_GRAD_OP" || *word == "false") d.zero = 2;
    }
  }
  if (fsdp.optional_bool("fsdp_offload_params", false)) d.offload.weights = d.offload.optimizer = 1;
  if (fsdp.optional_bool("fsdp_activation_checkpointing", false)) d.recompute = Recompute::kFull;
  fsdp.skip_rest();
}

}  // namespace

const KeySet& accelerate_keys() {
  static const KeySet kKeys = {
      "distributed_type mixed_precision num_machines num_processes fsdp_config parallelism_config "
      "gradient_accumulation_steps",
      "compute_environment debug downcast_bf16 enable_cpu_affinity machine_rank main_process_ip "
      "main_process_port main_training_function rdzv_backend same_network tpu_env tpu_use_cluster "
      "tpu_use_sudo tpu_name tpu_zone commands command_file use_cpu dynamo_config fp8_config "
      "gpu_ids "
      "deepspeed_config megatron_lm_config mpirun_config ipex_config tp_config"};
  return kKeys;
}

const KeySet& accelerate_fsdp_keys() {
  static const KeySet kKeys = {
      "fsdp_sharding_strategy fsdp_reshard_after_forward fsdp_offload_params "
      "fsdp_activation_checkpointing fsdp_version",
      "fsdp_auto_wrap_policy fsdp_transformer_layer_cls_to_wrap fsdp_min_num_params "
      "fsdp_backward_prefetch fsdp_backward_prefetch_policy fsdp_state_dict_type "
      "fsdp_forward_prefetch fsdp_use_orig_params fsdp_cpu_ram_efficient_loading "
      "fsdp_sync_module_states fsdp_limit_all_gathers"};
  return kKeys;
}

const KeySet& accelerate_parallelism_keys() {
  static const KeySet kKeys = {
      "parallelism_config_dp_replicate_size parallelism_config_dp_shard_size "
      "parallelism_config_tp_size parallelism_config_cp_size",
      "parallelism_config_cp_comm_strategy parallelism_config_cp_backend"};
  return kKeys;
}

Bundle write_fsdp(const plan::Plan& plan, const RegularPlan& regular, const StackFacts&) {
  ErrorList errors;
  check_nodes(kFsdp, plan, errors);
  check_fsdp(regular, errors);
  const std::string config = hf_config(plan.model, kFsdp, errors);
  errors.throw_if_any();
  const std::string launch =
      script_header(kFsdp, plan, regular) + "\n" +
      fmt::format(
          "NNODES=${{NNODES:-{}}}\n"
          "LAUNCH_ARGS=(\n"
          "  --config_file accelerate.yaml\n"
          "  --num_machines \"$NNODES\"\n"
          "  --machine_rank \"${{NODE_RANK:-0}}\"\n"
          "  --main_process_ip \"${{MASTER_ADDR:-localhost}}\"\n"
          "  --main_process_port \"${{MASTER_PORT:-29500}}\"\n"
          ")\n\n",
          plan.cluster.num_nodes()) +
      // The trainer rejects its checkpointing option if FSDP checkpoints.
      trainer_arguments(
          plan, regular,
          regular.degrees.zero == 0 && regular.degrees.recompute == Recompute::kFull) +
      "\n# TRAINER is a training script with the arguments of transformers' Trainer; this one is "
      "in\n"
      "# examples/pytorch/language-modeling of github.com/huggingface/transformers. accelerate "
      "starts\n"
      "# its processes as torchrun does.\n"
      "accelerate launch \"${LAUNCH_ARGS[@]}\" \"${TRAINER:-run_clm.py}\" \"${PLAN_ARGS[@]}\" "
      "\"${TRAIN_ARGS[@]}\" \"$@\"\n";
  return {{"accelerate.yaml", yaml(plan, regular)},
          {"model/config.json", config},
          {"launch.sh", launch},
          {"job.slurm", slurm_script(kFsdp, plan)}};
}

Reading read_fsdp(const Bundle& files, const Hints& hints, const ReadRequest& request) {
  const TextFile& file = *find_file(files, hints.main_file);
  ErrorList errors;
  Reading reading;
  const spec::Value value = spec::parse_yaml(file.text, file.name);
  const TrainerArguments trainer = read_trainer_arguments(files, errors);
  reading.model = read_model(files, hints, request, trainer);
  note_unknown_keys(value, accelerate_keys(), "", "accelerate", reading, errors);
  spec::Reader root(value, errors);
  plan::Degrees& d = reading.degrees;
  const std::string type = root.optional_string("distributed_type", "NO");
  if (type == "DEEPSPEED" || type == "MEGATRON_LM" || type == "XLA" || type == "TP")
    root.fail("distributed_type", "import.plan",
              fmt::format("distributed_type {} cannot be read here", type), "FSDP or MULTI_GPU");
  int replicate = 1;
  int shard = 0;
  spec::Reader axes = root.optional_table("parallelism_config");
  if (axes.present()) {
    note_unknown_keys(*value.find("parallelism_config"), accelerate_parallelism_keys(),
                      "parallelism_config.", "accelerate", reading, errors);
    d.tp = axes.optional_int("parallelism_config_tp_size", 1, 1, 1 << 20);
    d.cp = axes.optional_int("parallelism_config_cp_size", 1, 1, 1 << 20);
    replicate = axes.optional_int("parallelism_config_dp_replicate_size", 1, 1, 1 << 20);
    shard = axes.optional_int("parallelism_config_dp_shard_size", 1, 1, 1 << 20);
    axes.skip_rest();
  }
  d.dp =
      static_cast<int>(std::max<double>(1, request.devices / (static_cast<double>(d.tp) * d.cp)));
  if (type == "FSDP" || value.find("fsdp_config") != nullptr)
    read_sharding(root, value, d, reading, errors);
  if (shard > 0 && replicate > 1 && d.zero > 0)
    d.zero_group = static_cast<int>(std::min<double>(double(shard) * d.cp, 1 << 20));
  const spec::Value* strategy = value.find("fsdp_config") == nullptr
                                    ? nullptr
                                    : value.find("fsdp_config")->find("fsdp_sharding_strategy");
  if (strategy != nullptr) {
    const auto* word = std::get_if<std::string>(&strategy->data);
    if (word != nullptr && word->starts_with("HYBRID_SHARD") && hints.devices_per_node > 0)
      d.zero_group = hints.devices_per_node;
  }
  const std::string precision = root.optional_string("mixed_precision", "no");
  d.precision = precision == "bf16"   ? Precision::kBf16
                : precision == "fp16" ? Precision::kFp16
                : precision == "fp8"  ? Precision::kFp8
                                      : Precision::kFp32;
  if (trainer.checkpointing) d.recompute = Recompute::kFull;
  d.micro_batch = trainer.micro_batch;
  if (d.micro_batch == 0) {
    d.micro_batch = 1;
    reading.assumed.push_back(
        {"a micro-batch of 1, because it is an argument of the training script, which was not "
         "given"});
  }
  const int steps =
      std::max(1, trainer.found ? trainer.accumulation
                                : root.optional_int("gradient_accumulation_steps", 1, 1, 1 << 20));
  d.global_batch = static_cast<int>(std::clamp(double(d.micro_batch) * d.dp * steps, 1.0, 1e9));
  root.skip_rest();
  errors.throw_if_any();
  return reading;
}

}  // namespace nereus::exporting
